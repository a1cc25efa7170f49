#include <gmock/gmock.h>

#include "tests/support/expect_error.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::ir {
namespace {

// 0 input f32, 1 constant u32, 2 argument i32, 3 loop over 0 { 4 carried, 5 iteration, 6 add }, 7 result, 8 gather
Function sample() {
  return from_text(
      "vectis-ir 1\nfunction f\ninputs f32\ntables u32\narguments i32\n"
      "%0 = input f32 0\n%1 = constant u32 3\n%2 = argument i32 0\n"
      "%3 = loop %1 %0 {\n%4 = carried f32 %3 0\n%5 = iteration u32 %3\n%6 = add f32 %4 %0\n} %6\n"
      "%7 = result f32 %3 0\n%8 = gather u32 %1 0\noutput f32 %7\nend\n");
}

// The sample with one thing changed is refused in these words.
template <class Change>
void expect_refused(const std::string& words, Change change) {
  Function f = sample();
  change(f);
  EXPECT_ERROR(verify(f), ErrorCode::invalid_input, words);
}

TEST(IrVerify, TakesARightFunction) { EXPECT_NO_THROW(verify(sample())); }

TEST(IrVerify, TheInterface) {
  expect_refused("no name of a function", [](Function& f) { f.name = "a b"; });
  expect_refused("no known element", [](Function& f) { f.inputs[0] = static_cast<DType>(77); });
  expect_refused("no known element", [](Function& f) { f.tables[0] = static_cast<DType>(6); });
  expect_refused("not f32, i32 or u32", [](Function& f) { f.arguments[0] = DType::boolean; });
  expect_refused("has no output", [](Function& f) { f.outputs.clear(); });
  expect_refused("output 0 has no known element", [](Function& f) { f.outputs[0].element = static_cast<DType>(9); });
  expect_refused("output 0 names value 6", [](Function& f) { f.outputs[0].value = 6; });
  expect_refused("output 0 names value 99", [](Function& f) { f.outputs[0].value = 99; });
  expect_refused("output 0 names value 3", [](Function& f) { f.outputs[0].value = 3; });
  expect_refused("output 0 stores f32 as u32", [](Function& f) { f.outputs[0].element = DType::uint32; });
}

TEST(IrVerify, Blocks) {
  expect_refused("names instruction 99 of 9", [](Function& f) { f.body.push_back(99); });
  expect_refused("instruction 7 (result) of 'f' is twice", [](Function& f) { f.body.push_back(7); });
  expect_refused("instruction 8 (gather) of 'f' is in no block", [](Function& f) { f.body.pop_back(); });
  expect_refused("is twice in blocks", [](Function& f) { f.loops[0].body.push_back(0); });
  expect_refused("loop 1 has no instruction", [](Function& f) { f.loops.emplace_back(); });
}

TEST(IrVerify, OperandsAndTypes) {
  expect_refused("has no operation 200", [](Function& f) { f.instructions[6].op = static_cast<Op>(200); });
  expect_refused("has no type 9", [](Function& f) { f.instructions[6].type = static_cast<DType>(9); });
  expect_refused("uses value 7, which is not computed before it",
                 [](Function& f) { f.instructions[6].operands[1] = 7; });
  expect_refused("uses value 99, which is not", [](Function& f) { f.instructions[6].operands[0] = 99; });
  expect_refused("uses value 4 of a loop that has ended", [](Function& f) { f.instructions[8].operands[0] = 4; });
  expect_refused("uses loop 3 as a value", [](Function& f) { f.instructions[6].operands[1] = 3; });
  expect_refused("takes two operands, both f32", [](Function& f) { f.instructions[6].operands[1] = 1; });
  expect_refused("has type i32, but gives f32", [](Function& f) { f.instructions[6].type = DType::int32; });
  expect_refused("goes among f32, i32 and u32",
                 [](Function& f) { f.instructions[8] = {Op::bitcast, DType::boolean, {1}, 0}; });
}

TEST(IrVerify, LeavesAndTables) {
  expect_refused("names input 1 of 1", [](Function& f) { f.instructions[0].immediate = 1; });
  expect_refused("has type f32, but gives i32", [](Function& f) { f.inputs[0] = DType::int8; });
  expect_refused("names argument 5 of 1", [](Function& f) { f.instructions[2].immediate = 5; });
  expect_refused("has type u32, but gives i32", [](Function& f) { f.instructions[2].type = DType::uint32; });
  expect_refused("has type i32, but gives u32", [](Function& f) { f.instructions[2].op = Op::index; });
  expect_refused("is a bool of 2", [](Function& f) { f.instructions[2] = {Op::constant, DType::boolean, {}, 2}; });
  expect_refused("names table 1 of 1", [](Function& f) { f.instructions[8].immediate = 1; });
  expect_refused("takes an index of u32", [](Function& f) { f.instructions[8].operands[0] = 0; });
  expect_refused("has type u32, but gives f32", [](Function& f) { f.tables[0] = DType::float16; });
}

TEST(IrVerify, Loops) {
  expect_refused("has a type other than u32", [](Function& f) { f.instructions[3].type = DType::float32; });
  expect_refused("names loop 2 of 1", [](Function& f) { f.instructions[3].immediate = 2; });
  expect_refused("no u32 constant or argument", [](Function& f) { f.loops[0].trips = 2; });
  expect_refused("no u32 constant or argument",
                 [](Function& f) { f.instructions[1] = {Op::index, DType::uint32, {}, 0}; });
  expect_refused("uses trips 8, which is not", [](Function& f) { f.loops[0].trips = 8; });
  expect_refused("uses initial value 4", [](Function& f) { f.loops[0].initial[0] = 4; });
  expect_refused("has 1 initial and 0 next values", [](Function& f) { f.loops[0].next.clear(); });
  expect_refused("uses next value 7, which is not", [](Function& f) { f.loops[0].next[0] = 7; });
  expect_refused("carries value 0 with another type", [](Function& f) { f.loops[0].next[0] = 5; });
  expect_refused("names loop 0, which another has",
                 [](Function& f) { f.instructions[8] = {Op::loop, DType::uint32, {}, 0}; });
  expect_refused("(result) of 'f' names 0, which is no loop that has ended",
                 [](Function& f) { f.instructions[7].operands[0] = 0; });
  expect_refused("(result) of 'f' names 3, which is no loop that has ended",
                 [](Function& f) { f.instructions[6] = {Op::result, DType::float32, {3}, 0}; });
  expect_refused("(carried) of 'f' names 3, which is no loop around it",
                 [](Function& f) { f.instructions[8] = {Op::carried, DType::float32, {3}, 0}; });
  expect_refused("names carried value 1 of 1", [](Function& f) { f.instructions[4].immediate = 1; });
  expect_refused("has type i32, but gives f32", [](Function& f) { f.instructions[4].type = DType::int32; });
  expect_refused("has type i32, but gives u32", [](Function& f) { f.instructions[5].type = DType::int32; });
}

TEST(IrVerify, NestingHasALimit) {
  Function f = sample();
  for (std::uint32_t i = 0; i < loop_depth_max; ++i) {
    const auto id = static_cast<Id>(f.instructions.size());
    f.instructions.push_back({Op::loop, DType::uint32, {}, i + 1});
    f.loops.push_back({1, {}, {}, {}});
    f.loops[i].body.push_back(id);
  }
  EXPECT_ERROR(verify(f), ErrorCode::invalid_input, "nested deeper than 16");
}

}  // namespace
}  // namespace vectis::ir
