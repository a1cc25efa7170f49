#include <fmt/format.h>

#include <mutex>

#include "kernel/conformance/suite/test_context.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::size_t threads = 8;

// Every operation once, in an order that differs from thread to thread, on a stream of its own.
void run_all(const DeviceContext& context, std::size_t number, std::uint64_t seed, BehaviorReport& report,
             std::mutex& mutex) {
  SimulatedExecutor inline_executor(seed);
  const std::vector<Subject>& subjects = whole_suite().subjects;
  TestContext test(context);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Subject& subject = subjects[(i + number * 5) % subjects.size()];
    const TypeSet& types = subject.type_sets[number % subject.type_sets.size()];
    const Case one{&types, subject.medium, Layout::unaligned, subject.data.front(), subject.parameters.front()};
    std::string failure;
    bool offered = true;
    try {
      const Problem problem = make_problem(subject, one, seed + number);
      const std::vector<Operand> after = test.run(subject, problem);
      failure = judge(inline_executor, subject, one, problem, after).failure;
    } catch (const Error& error) {
      offered = !is_not_offered(error);
      if (offered) failure = error.what();
      test.renew();
    }
    const std::lock_guard lock(mutex);
    ++(offered ? report.cases : report.not_offered);
    if (failure.empty()) continue;
    report.failures.push_back(
        fmt::format("{} {} on one of {} threads: {}", subject.operation, name(one), threads, failure));
  }
}

BehaviorReport run_threads(Runtime& runtime, const Device& device, std::uint64_t seed, Coverage) {
  const DeviceContext context(device);
  BehaviorReport report;
  std::mutex mutex;
  runtime.executor().parallel_for(threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t number = begin; number < end; ++number) run_all(context, number, seed, report, mutex);
  });
  return report;
}

}  // namespace

void add_threads(Suite& suite) {
  suite.behaviors.push_back(
      {"threads", "operations may be run by several threads, each on its own stream", 0, run_threads});
}

}  // namespace vectis::inline v0_1::conformance
