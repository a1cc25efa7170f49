#include "kernel/ir/printer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/ir/opcodes.hpp"

namespace vectis::ir {
namespace {

using testing::HasSubstr;

Function scaled_add(DType element) {
  Builder b("scaled_add");
  const Value x = b.input(element);
  const Value y = b.input(DType::float32);
  const Value a = b.argument(DType::float32);
  b.output(b.add(b.mul(a, x), y), element);
  return b.finish();
}

TEST(IrPrinter, NamesTheEntryPointAndItsArgumentsInOrder) {
  const std::string text = print(scaled_add(DType::float32), Dialect::opencl_c, 64);
  EXPECT_EQ(entry_point(scaled_add(DType::float32)), "vt_scaled_add");
  EXPECT_THAT(text, HasSubstr("reqd_work_group_size(64, 1, 1)"));
  EXPECT_THAT(text,
              HasSubstr("vt_scaled_add(__global const float* in0, __global const float* in1, __global float* out0, "
                        "uint count, float p0)"));
}

TEST(IrPrinter, WorkItemsWriteAWordOfTheNarrowestOutput) {
  EXPECT_EQ(elements_per_item(scaled_add(DType::float32)), 1U);
  EXPECT_EQ(elements_per_item(scaled_add(DType::bfloat16)), 2U);
}

TEST(IrPrinter, PrintsConstantNanExplicitlyInOpenCl) {
  Builder b("of_constants");
  const Value known = b.unary(Op::tan, b.unary(Op::log, b.constant(-1.5F)));
  b.output(b.add(known, b.unary(Op::exp, b.input(DType::float32))), DType::float32);
  const Function function = b.finish();
  EXPECT_THAT(print(function, Dialect::opencl_c, 64), HasSubstr("isnan(v"));
  EXPECT_THAT(print(function, Dialect::opencl_c, 64), HasSubstr("= exp(v"));
  EXPECT_THAT(print(function, Dialect::cuda, 64), testing::Not(HasSubstr("isnan")));
}

TEST(IrPrinter, SharesHelpersInOneModule) {
  std::vector<Function> two = {scaled_add(DType::float16), scaled_add(DType::float16)};
  two[1].name = "other";
  const std::string text = print_module(two, Dialect::cuda, 128);
  const std::string head = "unsigned int vti_to_f16(float x)";
  ASSERT_NE(text.find(head), std::string::npos);
  EXPECT_EQ(text.find(head, text.find(head) + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("vt_other("));
}

// Counts the occurrences of an identifier, not those inside of longer ones.
std::size_t count_word(std::string_view text, std::string_view word) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || letters.find(text[at - 1]) == std::string_view::npos;
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || letters.find(text[end]) == std::string_view::npos)) ++count;
  }
  return count;
}

// A function called as the operation it uses is common, and so may be a helper: both must be printed.
TEST(IrPrinter, HelpersTakeNoNameThatAFunctionMayHave) {
  std::vector<std::string> names = {"zero",       "nan",        "mix",     "from_f16", "to_f16",  "to_bf16", "to_i8",
                                    "f32_to_i32", "f32_to_u32", "div_i32", "div_u32",  "rem_i32", "rem_u32"};
  for (std::size_t i = 0; i < op_count; ++i) names.emplace_back(name(static_cast<Op>(i)));
  for (const std::string& called : names) {
    Builder b(called);
    const Value x = b.input(DType::float16);
    const Value y = b.input(DType::int32);
    for (const Op op : {Op::min, Op::max, Op::rem, Op::pow, Op::atan2}) b.output(b.binary(op, x, x), DType::float16);
    for (const Op op : {Op::sign, Op::erf, Op::tanh, Op::atan}) b.output(b.unary(op, x), DType::bfloat16);
    b.output(b.binary(Op::div, y, b.convert(x, DType::int32)), DType::int8);
    const Value z = b.random(b.convert(x, DType::uint32), b.index());
    b.output(b.binary(Op::rem, z, b.binary(Op::div, z, b.convert(y, DType::uint32))), DType::uint32);
    b.output(b.binary(Op::rem, y, y), DType::int32);
    const Function function = b.finish();
    for (const Dialect dialect : {Dialect::opencl_c, Dialect::cuda, Dialect::hip, Dialect::wgsl}) {
      EXPECT_EQ(count_word(print(function, dialect), entry_point(function)), 1U) << called << ' ' << name(dialect);
    }
  }
}

TEST(IrPrinter, HidesInfiniteConstantsFromWgsl) {
  Builder b("infinite");
  const Value x = b.input(DType::float32);
  b.output(b.add(x, b.constant(std::numeric_limits<float>::infinity())), DType::float32);
  const std::string text = print(b.finish(), Dialect::wgsl);
  EXPECT_THAT(text, HasSubstr("bitcast<f32>(0x7f800000u | vti_zero)"));
  EXPECT_THAT(text, HasSubstr("let v0: f32 = in0[i];"));
}

TEST(IrPrinter, ChecksNanByBitsInGlsl) {
  Builder b("clamp");
  const Value x = b.input(DType::float32);
  b.output(b.select(b.binary(Op::lt, x, b.constant(0.0F)), b.constant(0.0F), x), DType::float32);
  const Function clamp = b.finish();
  EXPECT_THAT(print(clamp, Dialect::glsl_vulkan), HasSubstr("!vti_nan(v0) && !vti_nan(v1) && (v0 < v1)"));
  EXPECT_THAT(print(clamp, Dialect::cuda), HasSubstr("= v0 < v1;"));
}

}  // namespace
}  // namespace vectis::ir
