#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernel/conformance/suite/suite.hpp"
#include "kernel/conformance/suite/test_context.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t failures_kept = 5;  // messages per line
constexpr std::uint64_t failures_max = 20;  // per line; the remaining cases of the line are not run
constexpr double nanoseconds = 1e-9;

class Tester {
 public:
  Tester(Runtime& runtime, const Device& device, const Options& options)
      : runtime_(runtime), options_(options), device_(device), test_(device) {
    report_.device = device.label();
    report_.seed = options.seed;
  }

  // False when no further case of this line is worth running.
  bool run(Line& line, const Subject& subject, const Case& one) {
    if (bytes_needed(subject, one) > runtime_.os().memory_free_bytes()) {
      ++line.skipped;
      return true;
    }
    try {
      const Verdict verdict = run_case(runtime_, test_, subject, one, options_.seed);
      if (std::isfinite(verdict.worst) && verdict.worst > line.worst) {
        line.worst = verdict.worst;
        line.worst_case = name(one);
      }
      ++line.cases;
      if (is_empty(one)) ++line.empty;
      if (!verdict.failure.empty()) fail(line, name(one), verdict.failure);
    } catch (const Error& error) {
      record(line, name(one), error);
      test_.renew();
    }
    return line.not_offered == 0 && line.failures < (options_.stop_at_failure ? 1 : failures_max);
  }

  void run(Line& line, const Behavior& behavior) {
    try {
      const BehaviorReport found = behavior.run(runtime_, device_, options_.seed, options_.coverage);
      line.cases = found.cases;
      line.not_offered = found.not_offered;
      line.worst = found.worst;
      for (const std::string& what : found.failures) fail(line, "", what);
    } catch (const Error& error) {
      record(line, "", error);
    }
  }

  Report& report() { return report_; }

 private:
  void record(Line& line, const std::string& case_name, const Error& error) {
    if (is_not_offered(error)) {
      ++line.not_offered;
      return;
    }
    ++line.cases;
    fail(line, case_name, fmt::format("{}: {}", describe(error.code()).name, error.what()));
  }
  void fail(Line& line, const std::string& case_name, const std::string& what) {
    if (line.failures++ < failures_kept) report_.failures.push_back({line.operation, case_name, what});
  }

  Runtime& runtime_;
  const Options& options_;
  Device device_;
  TestContext test_;
  Report report_;
};

Line line_of(const Subject& subject, const TypeSet& types) {
  Line line;
  line.operation = subject.operation;
  line.types = types.label;
  line.limit = types.limit;
  line.error_of = types.limit == 0 ? "" : subject.error_of;
  return line;
}

// The cases of one line: all, or the one that was asked for, if it is of this line.
std::vector<Case> wanted_cases(const Subject& subject, const TypeSet& types, const Options& options) {
  if (options.case_name.empty()) return cases_of(subject, types, options.coverage);
  std::optional<Case> one = find_case(subject, options.case_name);
  if (!one || one->types != &types) return {};
  return {*std::move(one)};
}

// Throws InvalidInput if no selected operation has the case.
void check_case_name(const Selection& selection, const Options& options) {
  if (options.case_name.empty()) return;
  const auto has_case = [&](const Subject* subject) { return find_case(*subject, options.case_name).has_value(); };
  if (std::ranges::any_of(selection.subjects, has_case)) return;
  if (selection.subjects.size() == 1) (void)parse_case(*selection.subjects.front(), options.case_name);
  if (!selection.subjects.empty()) {
    throw Error(ErrorCode::invalid_input, "conformance",
                fmt::format("'{}' is no case of any of the {} selected operations; use a name from a report, with the "
                            "operation's name as --op",
                            options.case_name, selection.subjects.size()));
  }
  throw Error(ErrorCode::invalid_input, "conformance",
              fmt::format("'{}' is given as a case, but '{}' selects no operation with cases; --list shows the names",
                          options.case_name, options.operations));
}

}  // namespace

bool Report::passed() const noexcept {
  return cases() != 0 && std::ranges::all_of(lines, [](const Line& line) { return line.passed(); });
}

bool Report::complete() const noexcept {
  return std::ranges::all_of(lines, [](const Line& line) { return line.not_offered == 0; });
}

std::uint64_t Report::cases() const noexcept {
  std::uint64_t sum = 0;
  for (const Line& line : lines) sum += line.cases;
  return sum;
}

std::uint64_t Report::failed() const noexcept {
  std::uint64_t sum = 0;
  for (const Line& line : lines) sum += line.failures;
  return sum;
}

Report test(Runtime& runtime, const Device& device, const Options& options) {
  const Selection selection = select(options);
  check_case_name(selection, options);
  Tester tester(runtime, device, options);
  std::size_t all = options.case_name.empty() ? selection.behaviors.size() : 0;
  for (const Subject* subject : selection.subjects) all += subject->type_sets.size();
  std::size_t done = 0;
  const auto announce = [&](const std::string& what) {
    if (options.progress) options.progress(what, done, all);
    ++done;
  };
  const auto finish = [&] {
    if (options.progress) options.progress("done", all, all);
    return std::move(tester.report());
  };
  for (const Subject* subject : selection.subjects) {
    for (const TypeSet& types : subject->type_sets) {
      announce(subject->operation + " " + types.label);
      Line line = line_of(*subject, types);
      for (const Case& one : wanted_cases(*subject, types, options)) {
        if (!tester.run(line, *subject, one)) break;
      }
      const bool stop = options.stop_at_failure && line.failures != 0;
      const bool tried = line.cases + line.not_offered + line.skipped != 0;
      if (options.case_name.empty() || tried) tester.report().lines.push_back(std::move(line));
      if (stop) return std::move(tester.report());
    }
  }
  if (!options.case_name.empty()) return finish();
  for (const Behavior* behavior : selection.behaviors) {
    announce(behavior->name);
    Line line;
    line.operation = behavior->name;
    line.limit = behavior->limit;
    tester.run(line, *behavior);
    tester.report().lines.push_back(std::move(line));
  }
  return finish();
}

Report fuzz(Runtime& runtime, const Device& device, const Options& options) {
  const Selection selection = select(options);
  Tester tester(runtime, device, options);
  std::vector<Line>& lines = tester.report().lines;
  for (const Subject* subject : selection.subjects) {
    for (const TypeSet& types : subject->type_sets) lines.push_back(line_of(*subject, types));
  }
  if (lines.empty()) return std::move(tester.report());
  Random random(options.seed);
  const std::uint64_t begin = monotonic_nanoseconds();
  std::uint64_t last_report = 0;
  for (;;) {
    const double passed = static_cast<double>(monotonic_nanoseconds() - begin) * nanoseconds;
    if (passed >= options.seconds) return std::move(tester.report());
    if (options.progress && static_cast<std::uint64_t>(passed) >= last_report) {
      options.progress(fmt::format("{} random cases", tester.report().cases()), last_report,
                       static_cast<std::size_t>(options.seconds));
      ++last_report;
    }
    const Subject& subject = *selection.subjects[random.below(selection.subjects.size())];
    const Case one = random_case(subject, random);
    const auto line = std::ranges::find_if(
        lines, [&](const Line& l) { return l.operation == subject.operation && l.types == one.types->label; });
    if (line->not_offered == 0 && line->failures < failures_max) tester.run(*line, subject, one);
  }
}

}  // namespace vectis::inline v0_1::conformance
