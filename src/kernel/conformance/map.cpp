// Generated kernels: fixed chains of element-wise operations and random programs, against the interpreter in double
// precision with the bounds that the dialect they are printed in promises.
#include "vectis/kernel/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/test_context.hpp"
#include "kernel/ir/error_bounds.hpp"
#include "kernel/ir/random_program.hpp"
#include "kernel/launch/compile.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::size_t margin = 64;  // bytes behind each output that must stay
constexpr std::size_t word = 4;

ir::Function six_steps() {
  ir::Builder b("conformance_six_steps");
  const ir::Value x = b.input(DType::float32);
  const ir::Value y = b.input(DType::float32);
  const ir::Value a = b.argument(DType::float32);
  ir::Value v = b.add(b.mul(a, x), y);
  v = b.binary(ir::Op::max, v, b.constant(0.0F));
  v = b.sub(b.mul(v, y), x);
  b.output(b.unary(ir::Op::tanh, v), DType::float32);
  return b.finish();
}

ir::Function halves() {
  ir::Builder b("conformance_halves");
  const ir::Value x = b.input(DType::float16);
  const ir::Value y = b.input(DType::bfloat16);
  const ir::Value sum = b.add(b.mul(x, y), b.constant(0.3F));
  b.output(sum, DType::float16);
  b.output(b.select(b.binary(ir::Op::lt, x, y), x, y), DType::bfloat16);
  return b.finish();
}

ir::Function small_integers() {
  ir::Builder b("conformance_small_integers");
  const ir::Value x = b.input(DType::int8);
  const ir::Value y = b.input(DType::int8);
  b.output(b.sub(b.mul(x, y), x), DType::int8);  // saturates
  b.output(b.binary(ir::Op::bit_xor, x, b.binary(ir::Op::shl, y, b.constant(3))), DType::int32);
  return b.finish();
}

// What cuts, rounds and counts, on numbers half of which lie between two results.
ir::Function roundings() {
  ir::Builder b("conformance_roundings");
  const ir::Value x = b.input(DType::float32);
  for (const ir::Op op : {ir::Op::floor, ir::Op::ceil, ir::Op::round, ir::Op::trunc, ir::Op::sign}) {
    b.output(b.unary(op, x), DType::float32);
  }
  const ir::Value bits = b.input(DType::uint32);
  b.output(b.unary(ir::Op::popcount, bits), DType::uint32);
  b.output(b.unary(ir::Op::leading_zeros, bits), DType::uint32);
  return b.finish();
}

// Numbers half-way between two of 16 bits: those of f16 near 1024 and of bf16 near 128 are apart by 1. They are made of
// bits, so that they are exact.
ir::Function ties() {
  ir::Builder b("conformance_ties");
  const ir::Value some = b.binary(ir::Op::bit_and, b.input(DType::uint32), b.constant(std::uint32_t{31}));
  const auto halves_from = [&](std::uint32_t bits, std::uint32_t half) {
    const ir::Value steps = b.binary(ir::Op::shl, some, b.constant(half));
    return b.bitcast(b.add(steps, b.constant(bits)), DType::float32);
  };
  b.output(halves_from(0x4480'0000, 12), DType::float16);
  b.output(halves_from(0x4300'0000, 15), DType::bfloat16);
  return b.finish();
}

// Newton's square root: a loop with two loop-carried values.
ir::Function loop() {
  ir::Builder b("conformance_loop");
  const ir::Value x = b.unary(ir::Op::abs, b.input(DType::float32));
  const ir::Value start = b.add(x, b.constant(1.0F));
  const auto loop = b.begin_loop(b.constant(std::uint32_t{6}), std::array{start});
  const ir::Value next = b.mul(b.constant(0.5F), b.add(loop.carried[0], b.div(x, loop.carried[0])));
  const auto result = b.end_loop(loop, std::array{next});
  b.output(result[0], DType::float32);
  return b.finish();
}

double stored_value(DType element, std::span<const std::byte> bytes, std::size_t place) {
  const std::size_t size = word / lanes(element);
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + place * size, size);
  return element == DType::uint32 ? static_cast<double>(bits) : value_of(element, bits);
}

std::size_t bytes_of_elements(DType element, std::size_t count) {
  const std::size_t per_word = lanes(element);
  return std::max<std::size_t>(1, (count + per_word - 1) / per_word) * word;
}

class MapCases {
 public:
  MapCases(const Device& device, std::uint64_t seed)
      : test_(device),
        random_(seed),
        accuracy_(ir::accuracy_of(detail::printed_dialect(device.info(), detail::KernelOrigin::generated))) {}

  void run(const ir::Function& function, std::size_t count) {
    ++report.cases;
    const ir::ProgramData data = ir::random_data(function, std::max<std::size_t>(count, 1), random_);
    try {
      const auto outputs = computed(function, data, count);
      const std::string failure = judged(function, data, count, outputs);
      if (!failure.empty()) fail(function, count, failure);
    } catch (const Error& error) {
      if (is_not_offered(error)) throw;  // a device without a compiler offers no generated kernel
      fail(function, count, error.what());
      test_.renew();
    }
  }

  BehaviorReport report;

 private:
  using Bytes = std::vector<std::byte>;

  void fail(const ir::Function& function, std::size_t count, const std::string& what) {
    report.failures.push_back(fmt::format("{} elements: {}\n{}", count, what, ir::to_text(function)));
  }

  std::vector<DeviceMemory> upload(const std::vector<Bytes>& all) {
    std::vector<DeviceMemory> memories;
    for (const Bytes& bytes : all) {
      memories.emplace_back(test_.context(), std::max<std::size_t>(bytes.size(), word));
      test_.stream().copy_to_device(memories.back(), 0, bytes);
    }
    return memories;
  }

  std::vector<Bytes> computed(const ir::Function& function, const ir::ProgramData& data, std::size_t count) {
    std::vector<Bytes> results;
    for (const ir::Output& output : function.outputs) {
      results.emplace_back(bytes_of_elements(output.element, count) + margin, canary);
    }
    const std::vector<DeviceMemory> inputs = upload(data.inputs);
    const std::vector<DeviceMemory> tables = upload(data.tables);
    const std::vector<DeviceMemory> outputs = upload(results);
    map(test_.stream(), function, {inputs, tables, outputs, data.arguments}, count);
    for (std::size_t i = 0; i < results.size(); ++i) test_.stream().copy_to_host(results[i], outputs[i], 0);
    test_.stream().synchronize();
    return results;
  }

  std::string judged(const ir::Function& function, const ir::ProgramData& data, std::size_t count,
                     const std::vector<Bytes>& outputs) const {
    const auto expected = ir::interpret_with_bounds(function, data.bindings(), count, accuracy_);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const DType element = function.outputs[k].element;
      for (std::size_t i = 0; i < count; ++i) {
        const double found = stored_value(element, outputs[k], i);
        if (ir::accepts(expected[k][i], element, found)) continue;
        return fmt::format("output {} of element {} is {}, not in [{}, {}] around {}", k, i, found, expected[k][i].low,
                           expected[k][i].high, expected[k][i].value);
      }
      const auto behind = std::span(outputs[k]).subspan(count == 0 ? 0 : outputs[k].size() - margin);
      if (std::ranges::any_of(behind, [](std::byte byte) { return byte != canary; })) {
        return fmt::format("bytes behind output {} were changed", k);
      }
    }
    return {};
  }

  static constexpr std::byte canary{0xA5};
  TestContext test_;
  Random random_;
  const ir::Accuracy& accuracy_;  // what the language of its kernels promises
};

std::size_t programs_of(Coverage coverage) {
  if (coverage == Coverage::slice) return 12;
  return coverage == Coverage::standard ? 40 : 400;
}

BehaviorReport run_map(Runtime&, const Device& device, std::uint64_t seed, Coverage coverage) {
  MapCases cases(device, seed);
  for (const ir::Function& function : {six_steps(), halves(), small_integers(), loop()}) {
    for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 255U, 256U, 1027U, 70'001U}) cases.run(function, count);
  }
  for (const ir::Function& function : {roundings(), ties()}) {
    for (const std::size_t count : {1U, 1027U}) cases.run(function, count);
  }
  Random random(seed);
  for (std::size_t i = 0; i < programs_of(coverage); ++i) {
    const ir::Function function = ir::random_program(random, {.special = i % 4 == 3});
    cases.run(function, 1 + random.below(2000));
  }
  return std::move(cases.report);
}

}  // namespace

void add_map(Suite& suite) {
  suite.behaviors.push_back(
      {"map", "generated kernels stay as near the interpreter as the language of the device promises", 0, run_map});
}

}  // namespace vectis::inline v0_1::conformance
