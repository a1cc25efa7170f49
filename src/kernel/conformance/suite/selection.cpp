#include "kernel/conformance/suite/selection.hpp"

#include <fmt/format.h>

#include <regex>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

std::regex expression(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw Error(ErrorCode::invalid_input, "conformance",
                fmt::format("'{}' is no regular expression ({}); take a name or such as 'sum.*'", text, error.what()));
  }
}

}  // namespace

Selection select(const Options& options) {
  const std::regex wanted = expression(options.operations);
  Selection selection;
  for (const Subject& subject : whole_suite().subjects) {
    if (std::regex_match(subject.operation, wanted)) selection.subjects.push_back(&subject);
  }
  for (const Behaviour& behaviour : whole_suite().behaviours) {
    if (std::regex_match(behaviour.name, wanted)) selection.behaviours.push_back(&behaviour);
  }
  if (selection.subjects.empty() && selection.behaviours.empty()) {
    throw Error(ErrorCode::invalid_input, "conformance",
                fmt::format("nothing is named '{}'; --list shows all names", options.operations));
  }
  return selection;
}

std::vector<std::string> names(const Options& options) {
  std::vector<std::string> all;
  const Selection selection = select(options);
  for (const Subject* subject : selection.subjects) {
    if (all.empty() || all.back() != subject->operation) all.push_back(subject->operation);
  }
  for (const Behaviour* behaviour : selection.behaviours) all.push_back(behaviour->name);
  return all;
}

}  // namespace vectis::inline v0_1::conformance
