#include "kernel/ir/random_program.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/support/seed.hpp"

namespace vectis::ir {
namespace {

TEST(IrRandomProgram, EqualSeedsGiveEqualProgramsAndData) {
  Random a(test::seed());
  Random b(test::seed());
  const Function f = random_program(a);
  EXPECT_EQ(to_text(f), to_text(random_program(b)));
  EXPECT_EQ(random_data(f, 33, a).inputs, random_data(f, 33, b).inputs);
}

TEST(IrRandomProgram, CoversEveryOperationAndElementType) {
  Random random(test::seed());
  std::set<Op> ops;
  std::set<DType> elements;
  std::size_t nested = 0;
  for (int i = 0; i < 300; ++i) {
    const Function f = random_program(random);
    for (const Instruction& inst : f.instructions) ops.insert(inst.op);
    for (const auto* list : {&f.inputs, &f.tables}) elements.insert(list->begin(), list->end());
    for (const Loop& loop : f.loops) {
      for (const Id id : loop.body) nested += f.instructions[id].op == Op::loop ? 1U : 0U;
    }
  }
  for (std::size_t i = 0; i < op_count; ++i) EXPECT_TRUE(ops.contains(static_cast<Op>(i))) << name(static_cast<Op>(i));
  EXPECT_EQ(elements.size(), 6U);
  EXPECT_GT(nested, 10U);
}

TEST(IrRandomProgram, OptionsExcludeFeatures) {
  Random random(test::seed());
  for (int i = 0; i < 100; ++i) {
    const Function f = random_program(random, {.steps = 8, .loops = false, .packed = false});
    EXPECT_TRUE(f.loops.empty());
    for (const DType element : f.inputs) EXPECT_EQ(lanes(element), 1U);
    const Function g = random_program(random, {.differentiable = true});
    for (const Loop& loop : g.loops) EXPECT_EQ(g.instructions[loop.trip_count].op, Op::constant);
  }
}

}  // namespace
}  // namespace vectis::ir
