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

// The sample with one change is rejected with this message.
template <class Change>
void expect_rejected(const std::string& message, Change change) {
  Function f = sample();
  change(f);
  EXPECT_ERROR(verify(f), ErrorCode::invalid_input, message);
}

TEST(IrVerify, AcceptsAValidFunction) { EXPECT_NO_THROW(verify(sample())); }

TEST(IrVerify, InputsTablesArgumentsAndOutputs) {
  expect_rejected("not a valid function name", [](Function& f) { f.name = "a b"; });
  expect_rejected("input or table of an unsupported type", [](Function& f) { f.inputs[0] = static_cast<DType>(77); });
  expect_rejected("input or table of an unsupported type", [](Function& f) { f.tables[0] = static_cast<DType>(6); });
  expect_rejected("not f32, i32 or u32", [](Function& f) { f.arguments[0] = DType::boolean; });
  expect_rejected("has no output", [](Function& f) { f.outputs.clear(); });
  expect_rejected("output 0 has an unsupported type",
                  [](Function& f) { f.outputs[0].element = static_cast<DType>(9); });
  expect_rejected("output 0 refers to value 6", [](Function& f) { f.outputs[0].value = 6; });
  expect_rejected("output 0 refers to value 99", [](Function& f) { f.outputs[0].value = 99; });
  expect_rejected("output 0 refers to value 3", [](Function& f) { f.outputs[0].value = 3; });
  expect_rejected("output 0 stores a value of type f32 as u32",
                  [](Function& f) { f.outputs[0].element = DType::uint32; });
}

TEST(IrVerify, Blocks) {
  expect_rejected("refers to instruction 99, but there are only 9", [](Function& f) { f.body.push_back(99); });
  expect_rejected("instruction 7 (result) of 'f' is in more than one place", [](Function& f) { f.body.push_back(7); });
  expect_rejected("instruction 8 (gather) of 'f' is in no reachable block", [](Function& f) { f.body.pop_back(); });
  expect_rejected("is in more than one place", [](Function& f) { f.loops[0].body.push_back(0); });
  expect_rejected("no instruction uses loop 1", [](Function& f) { f.loops.emplace_back(); });
}

TEST(IrVerify, OperandsAndTypes) {
  expect_rejected("has unknown opcode 200", [](Function& f) { f.instructions[6].op = static_cast<Op>(200); });
  expect_rejected("has unsupported type 9", [](Function& f) { f.instructions[6].type = static_cast<DType>(9); });
  expect_rejected("uses value 7 before it is computed", [](Function& f) { f.instructions[6].operands[1] = 7; });
  expect_rejected("uses value 99 before", [](Function& f) { f.instructions[6].operands[0] = 99; });
  expect_rejected("uses value 4 of a loop that has ended", [](Function& f) { f.instructions[8].operands[0] = 4; });
  expect_rejected("uses loop 3 as a value", [](Function& f) { f.instructions[6].operands[1] = 3; });
  expect_rejected("takes two operands, both f32", [](Function& f) { f.instructions[6].operands[1] = 1; });
  expect_rejected("has type i32, but computes f32", [](Function& f) { f.instructions[6].type = DType::int32; });
  expect_rejected("converts only between f32, i32 and u32",
                  [](Function& f) { f.instructions[8] = {Op::bitcast, DType::boolean, {1}, 0}; });
}

TEST(IrVerify, LeavesAndTables) {
  expect_rejected("refers to input 1, but there are only 1", [](Function& f) { f.instructions[0].immediate = 1; });
  expect_rejected("has type f32, but computes i32", [](Function& f) { f.inputs[0] = DType::int8; });
  expect_rejected("refers to argument 5, but there are only 1", [](Function& f) { f.instructions[2].immediate = 5; });
  expect_rejected("has type u32, but computes i32", [](Function& f) { f.instructions[2].type = DType::uint32; });
  expect_rejected("has type i32, but computes u32", [](Function& f) { f.instructions[2].op = Op::index; });
  expect_rejected("is a bool constant of 2",
                  [](Function& f) { f.instructions[2] = {Op::constant, DType::boolean, {}, 2}; });
  expect_rejected("refers to table 1, but there are only 1", [](Function& f) { f.instructions[8].immediate = 1; });
  expect_rejected("takes a u32 index", [](Function& f) { f.instructions[8].operands[0] = 0; });
  expect_rejected("has type u32, but computes f32", [](Function& f) { f.tables[0] = DType::float16; });
}

TEST(IrVerify, Loops) {
  expect_rejected("has a type other than u32", [](Function& f) { f.instructions[3].type = DType::float32; });
  expect_rejected("refers to loop 2, but there are only 1", [](Function& f) { f.instructions[3].immediate = 2; });
  expect_rejected("not a u32 constant or argument", [](Function& f) { f.loops[0].trip_count = 2; });
  expect_rejected("not a u32 constant or argument",
                  [](Function& f) { f.instructions[1] = {Op::index, DType::uint32, {}, 0}; });
  expect_rejected("uses trip count 8 before", [](Function& f) { f.loops[0].trip_count = 8; });
  expect_rejected("uses initial value 4", [](Function& f) { f.loops[0].initial[0] = 4; });
  expect_rejected("has 1 initial and 0 next values", [](Function& f) { f.loops[0].next.clear(); });
  expect_rejected("uses next value 7 before", [](Function& f) { f.loops[0].next[0] = 7; });
  expect_rejected("changes the type of carried value 0", [](Function& f) { f.loops[0].next[0] = 5; });
  expect_rejected("uses loop 0, which belongs to another",
                  [](Function& f) { f.instructions[8] = {Op::loop, DType::uint32, {}, 0}; });
  expect_rejected("(result) of 'f' refers to 0, which is not a loop that has ended",
                  [](Function& f) { f.instructions[7].operands[0] = 0; });
  expect_rejected("(result) of 'f' refers to 3, which is not a loop that has ended",
                  [](Function& f) { f.instructions[6] = {Op::result, DType::float32, {3}, 0}; });
  expect_rejected("(carried) of 'f' refers to 3, which is not a loop around it",
                  [](Function& f) { f.instructions[8] = {Op::carried, DType::float32, {3}, 0}; });
  expect_rejected("refers to carried value 1, but there are only 1",
                  [](Function& f) { f.instructions[4].immediate = 1; });
  expect_rejected("has type i32, but computes f32", [](Function& f) { f.instructions[4].type = DType::int32; });
  expect_rejected("has type i32, but computes u32", [](Function& f) { f.instructions[5].type = DType::int32; });
}

TEST(IrVerify, LimitsNesting) {
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
