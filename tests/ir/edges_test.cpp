// Every operation by itself on the values where implementations differ: zeros, infinities, NaN, subnormals, extremes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "tests/ir/runners.hpp"

namespace vectis::test {
namespace {

using ir::Builder;
using ir::Op;
using ir::Value;

std::vector<std::uint32_t> float_edges() {
  using Limits = std::numeric_limits<float>;
  std::vector<std::uint32_t> edges;
  for (const float value : {0.0F,
                            1.0F,
                            0.5F,
                            1.5F,
                            2.5F,
                            0.49999997F,
                            0.75F,
                            2.0F,
                            3.0F,
                            10.0F,
                            88.0F,
                            88.8F,
                            104.5F,
                            127.5F,
                            128.0F,
                            1e-3F,
                            1e-4F,
                            3.14159274F,
                            1.57079637F,
                            100.25F,
                            29999.0F,
                            1e6F,
                            8388607.5F,
                            16777216.0F,
                            2147483520.0F,
                            2147483648.0F,
                            4294967040.0F,
                            4294967296.0F,
                            65504.0F,
                            65520.0F,
                            1e-7F,
                            6e-8F,
                            1e20F,
                            Limits::min(),
                            Limits::denorm_min(),
                            Limits::max(),
                            Limits::infinity(),
                            Limits::epsilon(),
                            1.0F + Limits::epsilon(),
                            1e-40F,
                            0.99999994F,
                            7.0F}) {
    edges.push_back(std::bit_cast<std::uint32_t>(value));
    edges.push_back(std::bit_cast<std::uint32_t>(-value));
  }
  edges.push_back(0x7fc00000U);
  edges.push_back(0xffc12345U);
  return edges;
}

std::vector<std::uint32_t> integer_edges() {
  return {0,          1,          2,          3,          5,          7,          31,         32,
          33,         100,        127,        128,        255,        256,        65535,      65536,
          0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0xffffff80, 0xffffff7f,
          16777217,   0x12345678, 0xdeadbeef, 0x00800000, 4294967040, 3000000001};
}

const std::vector<std::uint32_t>& edges_of(DType type) {
  static const std::vector<std::uint32_t> floats = float_edges();
  static const std::vector<std::uint32_t> integers = integer_edges();
  return type == DType::float32 ? floats : integers;
}

// Booleans are stored as uint32.
DType stored_type(DType type) { return type == DType::boolean ? DType::uint32 : type; }

// All pairs of edge values as inputs, or a subset of all triples.
ir::ProgramData edge_data(DType type, std::size_t inputs, std::size_t& count) {
  const auto& edges = edges_of(type);
  const std::size_t square = edges.size() * edges.size();
  count = inputs == 1 ? edges.size() : inputs == 2 ? square : square * 3;
  ir::ProgramData data;
  for (std::size_t input = 0; input < inputs; ++input) {
    std::vector<std::byte> bytes(count * 4);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = input == 0 ? i : input == 1 ? i / edges.size() : i * 7 / 5;
      std::memcpy(bytes.data() + i * 4, &edges[place % edges.size()], 4);
    }
    data.inputs.push_back(std::move(bytes));
  }
  return data;
}

Value as_output(Builder& b, Value value, DType& type) {
  if (value.type == DType::boolean) value = b.convert(value, DType::uint32);
  type = value.type;
  return value;
}

void add_case(std::vector<Case>& cases, const std::string& name, DType type, std::size_t operands,
              const std::function<Value(Builder&, std::span<const Value>)>& make) {
  Builder b(name);
  std::vector<Value> values;
  for (std::size_t i = 0; i < operands; ++i) values.push_back(b.input(stored_type(type)));
  DType result{};
  const Value value = as_output(b, make(b, values), result);
  b.output(value, stored_type(result));
  Case one;
  one.function = b.finish();
  one.data = edge_data(type, operands, one.count);
  cases.push_back(std::move(one));
}

std::vector<Case> all_operations() {
  std::vector<Case> cases;
  for (std::size_t number = static_cast<std::size_t>(Op::add); number <= static_cast<std::size_t>(Op::random);
       ++number) {
    const Op op = static_cast<Op>(number);
    if (op == Op::select || op == Op::convert || op == Op::bitcast || op == Op::gather) continue;
    for (const DType type : {DType::float32, DType::int32, DType::uint32}) {
      try {
        add_case(cases, fmt::format("op_{}_{}", ir::name(op), short_name(type)), type, ir::operand_count(op),
                 [&](Builder& b, std::span<const Value> values) { return b.apply(op, values); });
      } catch (const Error&) {
        continue;  // the operation takes no such operands
      }
    }
  }
  return cases;
}

std::vector<Case> all_conversions() {
  std::vector<Case> cases;
  for (const DType from : {DType::float32, DType::int32, DType::uint32}) {
    for (const DType to : {DType::float32, DType::int32, DType::uint32, DType::boolean}) {
      add_case(cases, fmt::format("convert_{}_{}", short_name(from), short_name(to)), from, 1,
               [&](Builder& b, std::span<const Value> values) { return b.convert(values[0], to); });
      if (to == DType::boolean) continue;
      add_case(cases, fmt::format("bitcast_{}_{}", short_name(from), short_name(to)), from, 1,
               [&](Builder& b, std::span<const Value> values) { return b.bitcast(values[0], to); });
      add_case(cases, fmt::format("truth_{}_{}", short_name(from), short_name(to)), from, 1,
               [&](Builder& b, std::span<const Value> values) {
                 return b.convert(b.convert(values[0], DType::boolean), to);
               });
    }
  }
  for (const Op op : {Op::bit_and, Op::bit_or, Op::bit_xor, Op::eq, Op::ne}) {
    add_case(cases, fmt::format("logic_{}", ir::name(op)), DType::int32, 2,
             [&](Builder& b, std::span<const Value> values) {
               const Value zero = b.constant(0);
               return b.binary(op, b.binary(Op::lt, values[0], zero), b.binary(Op::gt, values[1], zero));
             });
  }
  add_case(cases, "logic_choice", DType::float32, 2, [&](Builder& b, std::span<const Value> values) {
    const Value less = b.binary(Op::lt, values[0], values[1]);
    return b.select(b.unary(Op::bit_not, less), values[0], b.select(b.constant(true), values[1], values[0]));
  });
  return cases;
}

// Loads of every bit pattern of the packed types, and stores of the edge values.
std::vector<Case> all_packed() {
  std::vector<Case> cases;
  for (const DType element : {DType::float16, DType::bfloat16, DType::int8}) {
    Builder load(fmt::format("load_{}", short_name(element)));
    const Value loaded = load.input(element);
    load.output(loaded, stored_type(loaded.type));
    Case one;
    one.function = load.finish();
    one.count = 65536;
    std::vector<std::byte> bytes(one.count * 4 / lanes(element));
    for (std::size_t i = 0; i < one.count; ++i)
      std::memcpy(bytes.data() + i * 4 / lanes(element), &i, 4 / lanes(element));
    one.data.inputs.push_back(bytes);
    cases.push_back(one);

    Builder same(fmt::format("same_{}", short_name(element)));
    same.output(same.input(element), element);
    one.function = same.finish();
    one.count = 65535;
    cases.push_back(one);

    const DType type = ir::loaded_type(element);
    Builder store(fmt::format("store_{}", short_name(element)));
    store.output(store.input(stored_type(type)), element);
    one.function = store.finish();
    one.data = edge_data(type, 1, one.count);
    // Rounding to half: floats at and next to the midpoint of two halves.
    std::vector<std::byte>& input = one.data.inputs[0];
    for (std::uint32_t pattern = 0x32000000U; type == DType::float32 && pattern < 0x47900000U; pattern += 0x0800U) {
      for (const std::uint32_t bits : {pattern - 1, pattern, (pattern + 1) | 0x80000000U}) {
        const auto* const raw = reinterpret_cast<const std::byte*>(&bits);
        input.insert(input.end(), raw, raw + 4);
        ++one.count;
      }
    }
    cases.push_back(one);
  }
  return cases;
}

// Tables of every element type, at indices inside, at the end and beyond.
std::vector<Case> all_gathers() {
  std::vector<Case> cases;
  for (const DType element :
       {DType::float32, DType::int32, DType::uint32, DType::float16, DType::bfloat16, DType::int8}) {
    Builder b(fmt::format("gather_{}", short_name(element)));
    const std::uint32_t table = b.table(element);
    const Value index = b.input(DType::uint32);
    const Value found = b.gather(table, index);
    b.output(found, stored_type(found.type));
    b.output(b.gather(table, b.index()), stored_type(found.type));
    Case one;
    one.function = b.finish();
    one.data = edge_data(DType::uint32, 1, one.count);
    std::vector<std::byte> bytes(48);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 % 64);
    one.data.tables.push_back(std::move(bytes));
    cases.push_back(std::move(one));
  }
  return cases;
}

class Edges : public testing::TestWithParam<std::string> {
 protected:
  static void check(const std::vector<Case>& cases) {
    const auto runner = make_runner(GetParam());
    const std::vector<Outputs> outputs = runner->run(cases);
    Tally tally;
    for (std::size_t i = 0; i < cases.size(); ++i) judge(cases[i], outputs[i], runner->accuracy(), tally);
    EXPECT_EQ(tally.programs, cases.size());
    EXPECT_EQ(tally.rejected, 0U);
    EXPECT_LT(tally.undecided, tally.elements / 4);
  }
};

// The VM on every instruction set that the host supports; SetSupportedTargetsForTest(0) restores all of them.
TEST(CpuEdges, AreCorrectOnEveryInstructionSet) {
  const auto runner = make_cpu_runner();
  std::size_t sets = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    Tally tally;
    for (const auto& cases : {all_operations(), all_conversions(), all_gathers(), all_packed()}) {
      const std::vector<Outputs> outputs = runner->run(cases);
      for (std::size_t i = 0; i < cases.size(); ++i) judge(cases[i], outputs[i], runner->accuracy(), tally);
    }
    EXPECT_EQ(tally.rejected, 0U);
    ++sets;
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GT(sets, 0U);
}

TEST_P(Edges, OfOperations) { check(all_operations()); }
TEST_P(Edges, OfConversionsAndDecisions) { check(all_conversions()); }
TEST_P(Edges, OfPackedElements) { check(all_packed()); }
TEST_P(Edges, OfTables) { check(all_gathers()); }

INSTANTIATE_TEST_SUITE_P(Devices, Edges, testing::ValuesIn(runner_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vectis::test
