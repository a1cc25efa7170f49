#include "kernel/codegen/check.hpp"

#include <fmt/format.h>

#include <set>

#include "kernel/codegen/vocabulary.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

[[noreturn]] void refuse(const KernelSource& source, const std::string& what) {
  throw Error(ErrorCode::invalid_input, "print", fmt::format("kernel {}: {}", source.name, what));
}

void check_names(const KernelSource& source) {
  const bool lower = source.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (source.name.empty() || source.name[0] < 'a' || source.name[0] > 'z' || !lower ||
      source.name.find("__") != std::string::npos) {
    refuse(source, fmt::format("\"{}\" is no name of a kernel; use small letters, digits and single underscores, "
                               "beginning with a letter",
                               source.name));
  }
  std::set<std::string> seen;
  const auto check = [&](const std::string& parameter) {
    const std::string reason = judge_name(parameter);
    if (!reason.empty()) refuse(source, fmt::format("parameter \"{}\": {}", parameter, reason));
    if (!seen.insert(parameter).second) refuse(source, fmt::format("two parameters are called {}", parameter));
  };
  for (const BufferParameter& buffer : source.buffers) check(buffer.name);
  for (const ScalarParameter& scalar : source.scalars) check(scalar.name);
  for (const SharedArray& array : source.shared) check(array.name);
  for (const auto& define : source.defines) check(define.first.substr(0, define.first.find('(')));
}

void check_parameters(const KernelSource& source) {
  for (const ScalarParameter& scalar : source.scalars) {
    if (lanes(scalar.element) != 1) {
      refuse(source,
             fmt::format("scalar {} is {}; scalars are f32, i32 or u32", scalar.name, short_name(scalar.element)));
    }
  }
  for (const SharedArray& array : source.shared) {
    if (lanes(array.element) != 1 || array.count == 0) {
      refuse(source, fmt::format("shared array {} has {} elements of {}; at least one of f32, i32 or u32", array.name,
                                 array.count, short_name(array.element)));
    }
  }
  std::uint64_t items = 1;
  for (const std::uint32_t extent : source.group) items = items > 1024 ? items : items * extent;
  if (items == 0 || items > 1024) {
    refuse(source, fmt::format("a group of {} x {} x {} work-items; the limit is 1 to 1024 in all", source.group[0],
                               source.group[1], source.group[2]));
  }
  for (const auto& [name, replacement] : source.defines) {
    if (replacement.find('\n') != std::string::npos) refuse(source, fmt::format("define {} has several lines", name));
  }
}

}  // namespace

void check_source(const KernelSource& source, Dialect dialect) {
  check_names(source);
  check_parameters(source);
  const bool overridden = source.overrides.contains(dialect);
  for (const LintFinding& finding : lint(source)) {
    if (overridden && !finding.in_functions) continue;
    refuse(source, fmt::format("{} line {} column {}, {}: {}", finding.in_functions ? "functions," : "body,",
                               finding.line, finding.column, finding.rule, finding.message));
  }
}

}  // namespace vectis::inline v0_1::detail
