#include "kernel/ir/value_numbering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "vectis/base/time.hpp"

namespace vectis::ir {
namespace {

Instruction constant(std::uint32_t value) { return {Op::constant, DType::uint32, {}, value}; }

// Nanoseconds to add these constants, the shortest of some runs.
std::uint64_t time_of(const std::vector<std::uint32_t>& values) {
  std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
  for (int run = 0; run < 3; ++run) {
    const std::uint64_t begin = monotonic_nanoseconds();
    ValueNumbering numbering;
    for (Id id = 0; id < values.size(); ++id) {
      if (!numbering.find(constant(values[id]))) numbering.add(constant(values[id]), id);
    }
    best = std::min(best, monotonic_nanoseconds() - begin);
  }
  return best;
}

// Constants that a multiplicative hash without a seed puts into one of 5087 buckets, a size that hash tables have.
std::vector<std::uint32_t> colliding_constants(std::size_t count) {
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15ULL;
  std::uint64_t prefix = (static_cast<std::uint64_t>(Op::constant) << 8U) | static_cast<std::uint64_t>(DType::uint32);
  for (int operand = 0; operand < 3; ++operand) prefix *= multiplier;
  std::vector<std::uint32_t> values;
  for (std::uint32_t value = 0; values.size() < count; ++value) {
    const std::uint64_t hash = (prefix ^ value) * multiplier;
    if ((hash ^ (hash >> 32U)) % 5087 == 0) values.push_back(value);
  }
  return values;
}

TEST(IrValueNumbering, ChosenConstantsTakeNoLonger) {
  constexpr std::size_t count = 5000;
  std::vector<std::uint32_t> usual;
  for (std::uint32_t i = 0; i < count; ++i) usual.push_back(i * 2654435761U);
  constexpr std::uint64_t interruptions = 10'000'000;  // nanoseconds
  EXPECT_LT(time_of(colliding_constants(count)), 10 * time_of(usual) + interruptions);
}

TEST(IrValueNumbering, FindsEqualInstructionsOfOpenScopes) {
  ValueNumbering numbering;
  const Instruction sum{Op::add, DType::uint32, {1, 2, 0}, 0};
  const Instruction turned{Op::add, DType::uint32, {2, 1, 0}, 0};
  numbering.push_scope();
  numbering.add(sum, 7);
  EXPECT_EQ(numbering.find(turned), 7U);
  EXPECT_EQ(numbering.find({Op::add, DType::int32, {1, 2, 0}, 0}), std::nullopt);
  EXPECT_EQ(numbering.find({Op::sub, DType::uint32, {1, 2, 0}, 0}), std::nullopt);
  EXPECT_EQ(numbering.find({Op::add, DType::uint32, {1, 3, 0}, 0}), std::nullopt);
  numbering.pop_scope();
  EXPECT_EQ(numbering.find(sum), std::nullopt);
  numbering.push_scope();
  numbering.add_outermost(constant(5), 9);
  numbering.pop_scope();
  EXPECT_EQ(numbering.find(constant(5)), 9U);
}

}  // namespace
}  // namespace vectis::ir
