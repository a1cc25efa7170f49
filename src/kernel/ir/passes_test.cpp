#include "kernel/ir/passes.hpp"

#include <gtest/gtest.h>

#include <array>

namespace vectis {
namespace {

// Uses the index in the body and twice in a loop.
ir::Function counting() {
  ir::Builder b("counting");
  const ir::Value step = b.argument(DType::uint32);
  const auto loop = b.begin_loop(b.constant(std::uint32_t{3}), std::array{b.constant(std::uint32_t{0})});
  const ir::Value inside = b.add(b.index(), loop.iteration);
  const auto sums = b.end_loop(loop, std::array{b.add(loop.carried[0], inside)});
  b.output(b.add(sums[0], b.add(b.index(), step)), DType::uint32);
  return b.finish();
}

TEST(IrPasses, APartEqualsTheSameElementsOfTheWhole) {
  const ir::Function function = counting();
  const ir::Function shifted = ir::shift_index(function);
  ir::verify(shifted);
  ASSERT_TRUE(ir::uses_index(function));
  ASSERT_EQ(shifted.arguments.size(), 2U);
  constexpr std::uint32_t first = 37;
  ir::Bindings whole;
  whole.arguments = {1000};
  ir::Bindings part;
  part.arguments = {1000, first};
  const std::vector<double> all = ir::interpret(function, whole, 100)[0];
  const std::vector<double> behind = ir::interpret(shifted, part, 100 - first)[0];
  EXPECT_EQ(behind, std::vector<double>(all.begin() + first, all.end()));
}

TEST(IrPasses, UsesIndexIsFalseWithoutIndex) {
  ir::Builder b("plain");
  b.output(b.add(b.input(DType::float32), b.constant(1.0F)), DType::float32);
  EXPECT_FALSE(ir::uses_index(b.finish()));
}

}  // namespace
}  // namespace vectis
