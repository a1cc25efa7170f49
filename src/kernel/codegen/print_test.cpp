#include <gmock/gmock.h>

#include "tests/support/expect_error.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;
using testing::Not;

KernelSource twice() {
  return {.name = "twice",
          .buffers = {{"x", DType::float16, Access::read}, {"y", DType::float32, Access::write}},
          .scalars = {{"count", DType::uint32}},
          .shared = {{"part", DType::int32, 8}},
          .group = {32, 2, 1},
          .functions = "FUNCTION float doubled(float v) { return v + v; }",
          .body = "uint i = GLOBAL_ID(0);\nif (i < count) { STORE_y(i, doubled(LOAD_x(i))); }"};
}

TEST(PrintSource, EachDialectHasItsOwnSignature) {
  const std::string opencl = print(twice(), Dialect::opencl_c);
  EXPECT_THAT(opencl, HasSubstr("#pragma OPENCL FP_CONTRACT OFF"));
  EXPECT_THAT(opencl, HasSubstr("reqd_work_group_size(32, 2, 1))) void vt_twice(VTI_GLOBAL const uint* x, "
                                "VTI_GLOBAL float* y, const uint count)"));
  EXPECT_THAT(opencl, HasSubstr("VTI_SHARED int part[8];"));
  for (const Dialect dialect : {Dialect::cuda, Dialect::hip}) {
    EXPECT_THAT(print(twice(), dialect), HasSubstr("extern \"C\" __global__ void __launch_bounds__(64) vt_twice("));
  }
  KernelSource resident = twice();
  resident.defines.emplace_back("RESIDENT_GROUPS", "4");
  EXPECT_THAT(print(resident, Dialect::cuda), HasSubstr("__launch_bounds__(64, 4) vt_twice("));
  EXPECT_THAT(print(resident, Dialect::hip), HasSubstr("__launch_bounds__(64) vt_twice("));
  const std::string vulkan = print(twice(), Dialect::glsl_vulkan);
  EXPECT_TRUE(vulkan.starts_with("#version 450\n"));
  EXPECT_THAT(vulkan, HasSubstr("layout(push_constant, std430) uniform vti_scalars { uint count; };"));
  EXPECT_THAT(vulkan, HasSubstr("binding = 0) readonly buffer vti_buffer_0 { uint x[]; };"));
  EXPECT_THAT(vulkan, HasSubstr("binding = 1) writeonly buffer vti_buffer_1 { float y[]; };"));
  const std::string webgpu = print(twice(), Dialect::glsl_webgpu);
  EXPECT_THAT(webgpu, HasSubstr("layout(std140, set = 0, binding = 2) uniform vti_scalars { uint count; };"));
  EXPECT_THAT(webgpu, Not(HasSubstr("push_constant")));
  EXPECT_THAT(webgpu, Not(HasSubstr("only buffer"))) << "it refuses one buffer bound both ways in one launch";
  EXPECT_EQ(entry_point(twice()), "vt_twice");
  EXPECT_EQ(entry_point(twice(), Dialect::cuda), "vt_twice");
  EXPECT_EQ(entry_point(twice(), Dialect::glsl_webgpu), "main");
}

TEST(PrintSource, LineMarkersPrecedeTheBody) {
  for (const Dialect dialect : {Dialect::opencl_c, Dialect::cuda, Dialect::hip, Dialect::glsl_vulkan}) {
    const std::string text = print(twice(), dialect);
    EXPECT_THAT(text, HasSubstr("#line 1 \"twice\"\nuint i = GLOBAL_ID(0);\nif ("));
    EXPECT_THAT(text, HasSubstr("#line 1 \"twice.functions\"\nFUNCTION float doubled"));
  }
}

TEST(PrintSource, AnOverrideReplacesTheBodyInItsDialectOnly) {
  KernelSource source = twice();
  source.overrides[Dialect::cuda] = "float4 q = *(float4*)y; // what only CUDA has";
  EXPECT_THAT(print(source, Dialect::cuda), HasSubstr("what only CUDA has"));
  EXPECT_THAT(print(source, Dialect::cuda), Not(HasSubstr("if (i < count)")));
  EXPECT_THAT(print(source, Dialect::hip), HasSubstr("if (i < count)"));
}

// Each dialect has the instruction where a device may have it, and the same sum in portable words where none defines
// it.
TEST(PrintSource, DotProductsAreOneInstructionWhereADeviceHasIt) {
  const std::string cuda = print(twice(), Dialect::cuda);
  EXPECT_THAT(cuda, HasSubstr("#define DOT4_I8(a, b, sum) __dp4a("));
  const std::string hip = print(twice(), Dialect::hip);
  EXPECT_THAT(
      hip, HasSubstr("#if __has_builtin(__builtin_amdgcn_sdot4)\n#define DOT4_I8(a, b, sum) __builtin_amdgcn_sdot4("));
  EXPECT_THAT(hip, HasSubstr("#define DOT4_I8(a, b, sum) __builtin_amdgcn_sudot4(true, "));
  const std::string opencl = print(twice(), Dialect::opencl_c);
  EXPECT_THAT(opencl, HasSubstr("defined(__opencl_c_integer_dot_product_input_4x8bit_packed)\n"
                                "#define DOT4_I8(a, b, sum) ((int)(sum) + dot_4x8packed_ss_int("));
  EXPECT_THAT(opencl, HasSubstr("#define DOT4_I8(a, b, sum) arm_dot_acc("));
  EXPECT_THAT(opencl, HasSubstr("#define DOT4_I8(a, b, sum) __builtin_amdgcn_sdot4("));
  for (const Dialect dialect :
       {Dialect::opencl_c, Dialect::cuda, Dialect::hip, Dialect::glsl_vulkan, Dialect::glsl_webgpu}) {
    EXPECT_THAT(print(twice(), dialect),
                HasSubstr("#ifndef DOT4_I8\nFUNCTION int vti_dot4_i8(uint a, uint b, int sum)"));
  }
}

TEST(PrintSource, RejectsInvalidSources) {
  const auto refuse = [](auto change, const char* expected) {
    KernelSource source = twice();
    change(source);
    EXPECT_ERROR(static_cast<void>(print(source, Dialect::opencl_c)), ErrorCode::invalid_input, expected);
  };
  refuse([](auto& s) { s.name = "Twice"; }, "\"Twice\" is no name of a kernel");
  refuse([](auto& s) { s.name = ""; }, "is no name of a kernel");
  refuse([](auto& s) { s.name = "a__b"; }, "is no name of a kernel");
  refuse([](auto& s) { s.name = std::string(129, 'a'); }, "has 129 characters, the limit is 128");
  refuse([](auto& s) { s.buffers[0].name = "in"; }, "parameter \"in\"");
  refuse([](auto& s) { s.buffers[0].name = "4x"; }, "does not begin with a digit");
  refuse([](auto& s) { s.scalars[0].name = "x"; }, "two parameters are called x");
  refuse([](auto& s) { s.scalars[0].element = DType::float16; }, "scalar count is f16");
  refuse([](auto& s) { s.shared[0].element = DType::int8; }, "shared array part has 8 elements of i8");
  refuse([](auto& s) { s.shared[0].count = 0; }, "has 0 elements");
  refuse([](auto& s) { s.group = {64, 32, 1}; }, "a group of 64 x 32 x 1 work-items; the limit is 1 to 1024");
  refuse([](auto& s) { s.group = {0, 1, 1}; }, "a group of 0 x 1 x 1");
  refuse([](auto& s) { s.group = {65536, 65536, 2}; }, "the limit is 1 to 1024");
  refuse([](auto& s) { s.defines = {{"A B", "1"}}; }, "parameter \"A B\"");
  refuse([](auto& s) { s.defines = {{"A", "1\n#include"}}; }, "define A has several lines");
  refuse([](auto& s) { s.body += "\n  double d;"; }, "body, line 3 column 3, type: double: not every device");
  refuse([](auto& s) { s.functions = "float f(float q) { return q; }"; }, "functions, line 1 column 1, function-word");
  EXPECT_ERROR(static_cast<void>(print(twice(), Dialect::wgsl)), ErrorCode::invalid_input,
               "use glsl-webgpu, or the IR");
}

TEST(PrintSource, CompilerOptionsDisableContraction) {
  EXPECT_THAT(std::string(compiler_options(Dialect::cuda)), HasSubstr("--fmad=false"));
  EXPECT_THAT(std::string(compiler_options(Dialect::hip)), HasSubstr("-ffp-contract=off"));
  EXPECT_TRUE(compiler_options(Dialect::wgsl).empty());
}

TEST(KernelNames, ADialectIsFoundByItsName) {
  for (const auto dialect :
       {Dialect::opencl_c, Dialect::cuda, Dialect::hip, Dialect::glsl_vulkan, Dialect::glsl_webgpu, Dialect::wgsl}) {
    EXPECT_EQ(parse_dialect(name(dialect)), dialect);
  }
  EXPECT_EQ(parse_dialect("opencl"), std::nullopt);
}

TEST(KernelNames, LanesAndTypesOfAnElementAgree) {
  for (const auto element :
       {DType::float32, DType::int32, DType::uint32, DType::float16, DType::bfloat16, DType::int8}) {
    EXPECT_TRUE(is_kernel_type(element)) << name(element);
    EXPECT_EQ(lanes(element) * size_of(element), 4U) << name(element);
  }
  EXPECT_FALSE(is_kernel_type(DType::float64));
}

}  // namespace
}  // namespace vectis
