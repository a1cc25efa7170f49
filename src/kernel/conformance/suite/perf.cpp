#include <algorithm>
#include <map>

#include "kernel/conformance/suite/suite.hpp"
#include "kernel/conformance/suite/test_context.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr double min_seconds = 0.2;  // of measuring one case
constexpr int min_calls = 3;
constexpr int max_calls = 1000;
constexpr std::uint64_t rows_checked = 16;
constexpr double giga = 1e9;

double seconds_since(std::uint64_t begin) { return static_cast<double>(monotonic_nanoseconds() - begin) / giga; }

// The best of several calls, each waited for; the first, which may compile, does not count.
template <class Call>
double best_seconds(Stream& stream, const Call& call) {
  double best = 0;
  const std::uint64_t begin = monotonic_nanoseconds();
  for (int i = -1; i < max_calls && (i < min_calls || seconds_since(begin) < min_seconds); ++i) {
    const std::uint64_t start = monotonic_nanoseconds();
    call();
    stream.synchronize();
    const double taken = seconds_since(start);
    if (i == 0 || (i > 0 && taken < best)) best = taken;
  }
  return best;
}

Speed timed(Runtime& runtime, TestContext& test, const Subject& subject, const TypeSet& types, std::uint64_t seed) {
  const Case one{&types, subject.timed, Layout::tight, subject.data.front(), subject.parameters.front()};
  const Problem problem = make_problem(subject, one, seed);
  const std::vector<DeviceMemory> memories = test.upload(problem.operands);
  const std::vector<View> views = views_of(problem.operands, memories);
  Speed speed{subject.operation, types.label, name(one), 0, 0, 0, 0, 0, types.limit, {}};
  speed.seconds =
      best_seconds(test.stream(), [&] { run(test.stream(), subject.operation, views, problem.parameters); });
  const Operation* operation = find_operation(subject.operation);
  const OperationCost cost = operation->cost({operation, views, problem.parameters});
  speed.gigaflops = cost.operations / speed.seconds / giga;
  speed.gigabytes = cost.bytes / speed.seconds / giga;
  // One more call on the problem as it was: some operations add to what they find.
  const std::vector<Operand> after = test.run(subject, problem);
  const Verdict verdict = judge(runtime.executor(), subject, one, problem, after, rows_checked);
  speed.error = verdict.worst;
  speed.failure = verdict.failure;
  return speed;
}

Speed timed_or_failed(Runtime& runtime, TestContext& test, const Subject& subject, const TypeSet& types,
                      std::uint64_t seed) {
  try {
    return timed(runtime, test, subject, types, seed);
  } catch (const Error& error) {
    test.renew();
    return {subject.operation, types.label, "", 0, 0, 0, 0, 0, types.limit, error.what()};
  }
}

// What the device reaches when nothing else limits it: a large copy, and products of matrices by type.
struct Peaks {
  double gigabytes = 0;
  std::map<std::string, double> gigaflops;

  [[nodiscard]] double flops_of(const std::string& types) const {
    const auto found = gigaflops.find(types);
    const auto plain = gigaflops.find("float32");
    return std::max(found == gigaflops.end() ? 0 : found->second, plain == gigaflops.end() ? 0 : plain->second);
  }
  // The time the peaks allow over the time it took.
  [[nodiscard]] double share(const Speed& speed) const {
    const double flops = flops_of(speed.types);
    const double of_flops = flops > 0 ? speed.gigaflops / flops : 0;
    const double of_bytes = gigabytes > 0 ? speed.gigabytes / gigabytes : 0;
    return std::max(of_flops, of_bytes);
  }
};

Peaks measure_peaks(Runtime& runtime, TestContext& test, const Options& options) {
  Peaks peaks;
  for (const Subject& subject : whole_suite().subjects) {
    if (subject.operation != "matmul" && subject.operation != "copy") continue;
    for (const TypeSet& types : subject.type_sets) {
      if (options.progress) options.progress("peak of " + subject.operation + " " + types.label, 0, 0);
      const Speed speed = timed_or_failed(runtime, test, subject, types, options.seed);
      if (!speed.failure.empty()) continue;
      if (subject.operation == "copy") peaks.gigabytes = std::max(peaks.gigabytes, speed.gigabytes);
      if (subject.operation == "matmul") peaks.gigaflops[types.label] = speed.gigaflops;
    }
  }
  return peaks;
}

}  // namespace

SpeedReport measure(Runtime& runtime, const Device& device, const Options& options) {
  const Selection selection = select(options);
  TestContext test(device);
  const Peaks peaks = measure_peaks(runtime, test, options);
  SpeedReport report;
  report.device = device.label();
  report.peak_gigabytes = peaks.gigabytes;
  report.peak_gigaflops = peaks.flops_of("float32");
  for (std::size_t i = 0; i < selection.subjects.size(); ++i) {
    const Subject& subject = *selection.subjects[i];
    for (const TypeSet& types : subject.type_sets) {
      if (options.progress) options.progress(subject.operation + " " + types.label, i, selection.subjects.size());
      report.speeds.push_back(timed_or_failed(runtime, test, subject, types, options.seed));
      report.speeds.back().of_roofline = peaks.share(report.speeds.back());
    }
  }
  return report;
}

}  // namespace vectis::inline v0_1::conformance
