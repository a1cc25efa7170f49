#include <gmock/gmock.h>

#include <limits>

#include "tests/support/expect_error.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::ir {
namespace {

constexpr auto invalid = ErrorCode::invalid_input;

TEST(IrBuilder, BuildsTheExampleOfTheHeader) {
  Builder b("scaled_add");
  const Value x = b.input(DType::float32);
  const Value y = b.input(DType::float16);
  const Value a = b.argument(DType::float32);
  b.output(b.add(b.mul(a, x), y), DType::bfloat16);
  EXPECT_EQ(to_text(b.finish()),
            "vectis-ir 1\n"
            "function scaled_add\n"
            "inputs f32 f16\n"
            "arguments f32\n"
            "%0 = input f32 0\n"
            "%1 = input f32 1\n"
            "%2 = argument f32 0\n"
            "%3 = mul f32 %2 %0\n"
            "%4 = add f32 %3 %1\n"
            "output bf16 %4\n"
            "end\n");
}

TEST(IrBuilder, ValueNumberingReusesEqualInstructions) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  const Value y = b.input(DType::float32);
  EXPECT_NE(x.id, y.id);
  EXPECT_EQ(b.constant(1.0F).id, b.constant(1.0F).id);
  EXPECT_NE(b.constant(0.0F).id, b.constant(-0.0F).id);
  EXPECT_NE(b.constant(1U).id, b.constant(1).id);
  EXPECT_EQ(b.index().id, b.index().id);
  EXPECT_EQ(b.add(x, y).id, b.add(y, x).id);
  EXPECT_NE(b.sub(x, y).id, b.sub(y, x).id);
  EXPECT_NE(b.binary(Op::min, x, y).id, b.binary(Op::min, y, x).id);
  EXPECT_EQ(b.binary(Op::eq, x, y).id, b.binary(Op::eq, y, x).id);
  EXPECT_NE(b.convert(x, DType::int32).id, b.convert(x, DType::uint32).id);
  EXPECT_EQ(b.convert(x, DType::float32).id, x.id);
}

TEST(IrBuilder, LoopBodiesSeeEnclosingBlocksOnly) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  const Value twice = b.add(x, x);
  const auto loop = b.begin_loop(b.constant(3U), std::array{x});
  EXPECT_EQ(b.add(x, x).id, twice.id);
  const Value inside = b.mul(x, x);
  const Value one = b.constant(1.0F);  // placed before the loop
  const auto results = b.end_loop(loop, std::array{b.add(loop.carried[0], inside)});
  EXPECT_NE(b.mul(x, x).id, inside.id);
  EXPECT_EQ(b.constant(1.0F).id, one.id);
  EXPECT_ERROR(b.add(x, inside), invalid, "belongs to a loop that has ended");
  EXPECT_ERROR(b.add(x, loop.carried[0]), invalid, "belongs to a loop that has ended");
  b.output(b.add(results[0], one), DType::float32);
  const Function f = b.finish();
  EXPECT_EQ(f.loops.size(), 1U);
  EXPECT_EQ(to_text(from_text(to_text(f))), to_text(f));
}

TEST(IrBuilder, DecisionTreesBecomeSelects) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  const Value small = b.binary(Op::lt, x, b.constant(0.0F));
  const Value large = b.binary(Op::gt, x, b.constant(1.0F));
  const std::array leaves = {b.constant(-1.0F), x, b.constant(2.0F)};
  const std::array tree = {Builder::DecisionNode{small, ~0, 1}, Builder::DecisionNode{large, ~2, ~1}};
  const Value inner = b.select(large, leaves[2], leaves[1]);
  EXPECT_EQ(b.decision_tree(tree, leaves).id, b.select(small, leaves[0], inner).id);
  EXPECT_EQ(b.decision_tree({}, leaves).id, leaves[0].id);
  EXPECT_ERROR(b.decision_tree(std::array{Builder::DecisionNode{small, ~0, ~3}}, leaves), invalid, "leaf 3");
  EXPECT_ERROR(b.decision_tree(std::array{Builder::DecisionNode{small, ~0, 7}}, leaves), invalid, "node 7");
  EXPECT_ERROR(b.decision_tree(std::array{Builder::DecisionNode{small, ~0, 0}}, leaves), invalid, "part of a cycle");
  EXPECT_ERROR(b.decision_tree({}, {}), invalid, "leaf 0");
  EXPECT_ERROR(b.decision_tree(std::array{Builder::DecisionNode{x, ~0, ~1}}, leaves), invalid, "select takes a bool");
}

// A rejected end_loop leaves the loop open and unchanged.
TEST(IrBuilder, EndLoopCanBeRetriedAfterAnError) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  const auto loop = b.begin_loop(b.constant(3U), std::array{x, x});
  const Value sum = b.add(loop.carried[0], loop.carried[1]);
  EXPECT_ERROR(b.end_loop(loop, std::array{sum, b.index()}), invalid, "is u32, its initial value is f32");
  const auto results = b.end_loop(loop, std::array{sum, x});
  b.output(results[0], DType::float32);
  const Function f = b.finish();
  EXPECT_EQ(f.loops[0].next.size(), 2U);
}

TEST(IrBuilder, RejectsTypesThatKernelsCannotHold) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  EXPECT_ERROR(b.input(DType::float64), invalid, "an input cannot hold float64");
  EXPECT_ERROR(b.table(DType::boolean), invalid, "a table cannot hold bool");
  EXPECT_ERROR(b.output(x, DType::int64), invalid, "an output cannot hold int64");
  EXPECT_ERROR(b.argument(DType::float16), invalid, "not f16");
  EXPECT_ERROR(b.convert(x, DType::float16), invalid, "not f16");
  EXPECT_ERROR(b.bitcast(x, DType::float16), invalid, "bitcast");
}

TEST(IrBuilder, RejectsInvalidFunctions) {
  EXPECT_ERROR(Builder("Upper"), invalid, "not a valid function name");
  EXPECT_ERROR(Builder(""), invalid, "not a valid function name");
  EXPECT_ERROR(Builder(std::string(65, 'a')), invalid, "not a valid function name");
  Builder b("f");
  const Value x = b.input(DType::float32);
  const Value n = b.input(DType::int8);
  EXPECT_EQ(n.type, DType::int32);
  EXPECT_ERROR(b.add(x, n), invalid, "add takes two operands", "not f32, i32");
  EXPECT_ERROR(b.apply(Op::add, std::array{x}), invalid, "not f32");
  EXPECT_ERROR(b.apply(Op::convert, std::array{x}), invalid, "a function of its own");
  EXPECT_ERROR(b.argument(DType::boolean), invalid, "not bool");
  EXPECT_ERROR(b.bitcast(x, DType::boolean), invalid, "bitcast");
  EXPECT_ERROR(b.gather(0, b.index()), invalid, "no table 0");
  const std::uint32_t table = b.table(DType::float32);
  EXPECT_ERROR(b.gather(table, n), invalid, "u32 index");
  EXPECT_ERROR(b.add(Value{99, DType::float32}, x), invalid, "another builder");
  EXPECT_ERROR(b.add(Value{n.id, DType::float32}, x), invalid, "another builder");
  EXPECT_ERROR(b.output(x, DType::int8), invalid, "cannot be stored as i8");
  EXPECT_ERROR(b.output(b.constant(true), DType::uint32), invalid, "bool cannot be stored");
  EXPECT_ERROR(b.finish(), invalid, "no output");
}

TEST(IrBuilder, ARejectedEndOfALoopLeavesTheLoopOpen) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  const Value count = b.constant(3U);
  const auto loop = b.begin_loop(count, std::array{x, x});
  EXPECT_ERROR(b.end_loop(loop, std::array{loop.carried[0], count}), invalid, "next value 1");
  const auto results = b.end_loop(loop, std::array{loop.carried[1], loop.carried[0]});
  b.output(results[0], DType::float32);
  EXPECT_EQ(b.finish().loops.at(0).next, (std::vector<Id>{loop.carried[1].id, loop.carried[0].id}));
}

TEST(IrBuilder, RejectsInvalidLoops) {
  Builder b("f");
  const Value x = b.input(DType::float32);
  EXPECT_ERROR(b.begin_loop(b.index(), std::array{x}), invalid, "u32 constant or argument");
  EXPECT_ERROR(b.begin_loop(b.constant(3), std::array{x}), invalid, "u32 constant or argument");
  const auto outer = b.begin_loop(b.constant(3U), std::array{x});
  const auto inner = b.begin_loop(b.argument(DType::uint32), std::array{x});
  EXPECT_ERROR(b.end_loop(outer, std::array{x}), invalid, "innermost");
  EXPECT_ERROR(b.end_loop(inner, {}), invalid, "carries 1 values, not 0");
  EXPECT_ERROR(b.end_loop(inner, std::array{b.index()}), invalid, "is u32, its initial value is f32");
  EXPECT_ERROR(b.output(x, DType::float32), invalid, "still open");
  EXPECT_ERROR(b.finish(), invalid, "still open");
  for (std::size_t depth = 2; depth < loop_depth_max; ++depth) b.begin_loop(b.constant(1U), {});
  EXPECT_ERROR(b.begin_loop(b.constant(1U), {}), invalid, "nested deeper");
}

}  // namespace
}  // namespace vectis::ir
