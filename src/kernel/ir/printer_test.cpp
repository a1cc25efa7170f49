#include "kernel/ir/printer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const std::string head = "unsigned int vt_to_f16(float x)";
  ASSERT_NE(text.find(head), std::string::npos);
  EXPECT_EQ(text.find(head, text.find(head) + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("vt_other("));
}

TEST(IrPrinter, HidesInfiniteConstantsFromWgsl) {
  Builder b("infinite");
  const Value x = b.input(DType::float32);
  b.output(b.add(x, b.constant(std::numeric_limits<float>::infinity())), DType::float32);
  const std::string text = print(b.finish(), Dialect::wgsl);
  EXPECT_THAT(text, HasSubstr("bitcast<f32>(0x7f800000u | vt_zero)"));
  EXPECT_THAT(text, HasSubstr("let v0: f32 = in0[i];"));
}

TEST(IrPrinter, ChecksNanByBitsInGlsl) {
  Builder b("clamp");
  const Value x = b.input(DType::float32);
  b.output(b.select(b.binary(Op::lt, x, b.constant(0.0F)), b.constant(0.0F), x), DType::float32);
  const Function clamp = b.finish();
  EXPECT_THAT(print(clamp, Dialect::glsl_vulkan), HasSubstr("!vt_nan(v0) && !vt_nan(v1) && (v0 < v1)"));
  EXPECT_THAT(print(clamp, Dialect::cuda), HasSubstr("= v0 < v1;"));
}

}  // namespace
}  // namespace vectis::ir
