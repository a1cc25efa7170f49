#include <fmt/format.h>

#include <algorithm>

#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/test_context.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t rounds = 24;

// x as float16 made on one stream and read on the other, back and forth, with nothing but events in between.
std::string there_and_back(const DeviceContext& context, std::uint64_t columns, Random& random) {
  Operand x(DType::float32, {3, columns}, Layout::unaligned, random);
  x.fill(Data::wide, random);
  const Operand empty_half(DType::float16, {3, columns}, Layout::offset, random);
  const Operand empty(DType::float32, {3, columns}, Layout::tight, random);
  TestContext first(context);
  TestContext second(context);
  const std::vector<Operand> operands = {x, empty_half, empty};
  const std::vector<DeviceMemory> memories = first.upload(operands);
  const std::vector<View> views = views_of(operands, memories);
  const Event made(context);
  const Event back(context);
  run(first.stream(), "cast", {views[0], views[1]});
  first.stream().record(made);
  second.stream().wait(made);
  run(second.stream(), "cast", {views[1], views[2]});
  second.stream().record(back);
  first.stream().wait(back);
  const std::vector<Operand> after = first.download(operands, memories);
  for (std::uint64_t row = 0; row < 3; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      const double wanted = value_of(DType::float16, bits_of(DType::float16, x.value(row, column)));
      if (after[2].value(row, column) == wanted) continue;
      return fmt::format("two casts on two streams with events between them, 3x{}: row {}, column {} is {}, not {}",
                         columns, row, column, after[2].value(row, column), wanted);
    }
  }
  return {};
}

// Many small operations without waiting: each reads what the one before wrote.
std::string in_order(const DeviceContext& context, std::uint64_t columns, Random& random) {
  const Operand zero(DType::int32, {1, columns}, Layout::tight, random);
  TestContext test(context);
  const std::vector<Operand> operands = {zero, zero};
  const std::vector<DeviceMemory> memories = test.upload(operands);
  const std::vector<View> views = views_of(operands, memories);
  run(test.stream(), "fill", {views[0]}, {1});
  constexpr int steps = 9;
  for (int step = 0; step < steps; ++step) {
    const auto from = static_cast<std::size_t>(step % 2);
    run(test.stream(), "prefix_sum", {views[from], views[1 - from]}, {0});
    run(test.stream(), "fill", {views[from]}, {-7});
  }
  // After n steps from ones, the first element is still 1 and the second n + 1.
  const std::vector<Operand> after = test.download(operands, memories);
  const Operand& last = after[steps % 2];
  if (last.value(0, 0) == 1 && (columns < 2 || last.value(0, 1) == steps + 1)) return {};
  return fmt::format("{} prefix sums in order of 1x{} begin with {}", steps, columns, last.value(0, 0));
}

BehaviorReport run_streams(Runtime&, const Device& device, std::uint64_t seed, Coverage) {
  const DeviceContext context(device);
  Random random(seed);
  BehaviorReport report;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t columns = 1 + random.below(round % 4 == 0 ? 100'000 : 300);
    for (const auto& part : {there_and_back, in_order}) {
      ++report.cases;
      if (std::string failure = part(context, columns, random); !failure.empty()) report.failures.push_back(failure);
    }
  }
  return report;
}

}  // namespace

void add_streams(Suite& suite) {
  suite.behaviors.push_back(
      {"streams", "operations of a stream happen in order, and of two streams by their events", 0, run_streams});
}

}  // namespace vectis::inline v0_1::conformance
