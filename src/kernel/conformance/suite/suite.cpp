#include "kernel/conformance/suite/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <tuple>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::conformance {

// Every file of src/kernel/conformance is a part of the suite; the build writes the list.
#define VECTIS_PART(name) void add_##name(Suite& suite);
#include "conformance_parts.inc"
#undef VECTIS_PART

namespace {

std::regex expression(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw Error(
        ErrorCode::invalid_input, "conformance",
        fmt::format("'{}' is not a regular expression ({}); use a name, or for example 'sum.*'", text, error.what()));
  }
}

}  // namespace

const Suite& whole_suite() {
  static const Suite suite = [] {
    Suite made;
#define VECTIS_PART(name) add_##name(made);
#include "conformance_parts.inc"
#undef VECTIS_PART
    std::ranges::sort(made.subjects, [](const Subject& a, const Subject& b) {
      return std::tie(a.operation, a.type_sets.front().label) < std::tie(b.operation, b.type_sets.front().label);
    });
    std::ranges::sort(made.behaviors, {}, &Behavior::name);
    return made;
  }();
  return suite;
}

Selection select(const Options& options) {
  const std::regex wanted = expression(options.operations);
  Selection selection;
  for (const Subject& subject : whole_suite().subjects) {
    if (std::regex_match(subject.operation, wanted)) selection.subjects.push_back(&subject);
  }
  for (const Behavior& behavior : whole_suite().behaviors) {
    if (std::regex_match(behavior.name, wanted)) selection.behaviors.push_back(&behavior);
  }
  if (selection.subjects.empty() && selection.behaviors.empty()) {
    throw Error(ErrorCode::invalid_input, "conformance",
                fmt::format("no operation matches '{}'; --list shows all names", options.operations));
  }
  return selection;
}

std::vector<std::string> names(const Options& options) {
  std::vector<std::string> all;
  const Selection selection = select(options);
  for (const Subject* subject : selection.subjects) {
    if (all.empty() || all.back() != subject->operation) all.push_back(subject->operation);
  }
  for (const Behavior* behavior : selection.behaviors) all.push_back(behavior->name);
  return all;
}

}  // namespace vectis::inline v0_1::conformance
