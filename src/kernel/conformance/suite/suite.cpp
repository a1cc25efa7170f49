#include "kernel/conformance/suite/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kernel/conformance/suite/name_pattern.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::conformance {

// Every file of src/kernel/conformance is a part of the suite; the build writes the list.
#define VECTIS_PART(name) void add_##name(Suite& suite);
#include "conformance_parts.inc"
#undef VECTIS_PART

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
  const NamePattern wanted(options.operations);
  Selection selection;
  for (const Subject& subject : whole_suite().subjects) {
    if (wanted.matches(subject.operation)) selection.subjects.push_back(&subject);
  }
  for (const Behavior& behavior : whole_suite().behaviors) {
    if (wanted.matches(behavior.name)) selection.behaviors.push_back(&behavior);
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
