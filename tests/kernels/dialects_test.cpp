// A slice of `python3 -m tools.dialects`: GLSL of every built-in kernel's body, and of a kernel with every word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/support/temporary_folder.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::test {
namespace {

KernelSource every_word() {
  return {.name = "every_word",
          .buffers = {{"a", DType::float16, Access::read},
                      {"b", DType::bfloat16, Access::read_write},
                      {"c", DType::int8, Access::write},
                      {"d", DType::float32, Access::write},
                      {"e", DType::int32, Access::read_write},
                      {"f", DType::uint32, Access::read_write}},
          .scalars = {{"count", DType::uint32}, {"scale", DType::float32}, {"shift", DType::int32}},
          .shared = {{"part", DType::float32, 64}, {"marks", DType::uint32, 4}},
          .defines = {{"FACTOR", "2.0f"}},
          .functions = "FUNCTION float squared(float v) { return v * v; }",
          .body = R"(uint i = GLOBAL_ID(0);
uint t = LOCAL_ID(0);
if (t < 4u) { marks[t] = GROUP_ID(0) + GROUP_COUNT(1) * GROUP_SIZE(2); }
part[t] = squared(LOAD_a(i)) * FACTOR + LOAD_b(i);
BARRIER();
float x = part[63u - t];
float y = MIN(x, scale) + MAX(x, 1.0f) + ABS(x) + CLAMP(x, 0.0f, 1.0f) + FMA(x, x, scale) + SQRT(x) + RSQRT(x);
y += EXP(x) + EXP2(x) + LOG(x) + LOG2(x) + SIN(x) + COS(x) + TAN(x) + TANH(x) + ASIN(x) + ACOS(x) + ATAN(x);
y += ATAN2(x, y) + POW(x, y) + FLOOR(x) + CEIL(x) + ROUND(x) + TRUNC(x) + SIGN(x);
if (IS_NAN(y) || y == F32_INFINITY) { y = F32_NAN; }
int k = IMIN(I32(i), shift) + IMAX(I32(x), LOAD_e(i)) + I32_SATURATED(x) + AS_I32(y) + DOT4_I8(WORD_a(i), i, 3);
uint u = UMIN(i, count) + UMAX(U32(x), LOAD_f(i)) + U32_SATURATED(x) + AS_U32(y) + POPCOUNT(i) + LEADING_ZEROS(i);
u += U32(I8_LANE(i, 2u)) + F32_TO_F16(y) + F32_TO_BF16(y) + AS_U32(F16_TO_F32(u) + BF16_TO_F32(u)) + LANES_a;
ATOMIC_ADD_U32(f, 0u, u); ATOMIC_ADD_I32(e, 0u, k); ATOMIC_MIN_U32(f, 1u, u); ATOMIC_MIN_I32(e, 1u, k);
ATOMIC_MAX_U32(f, 2u, u); ATOMIC_MAX_I32(e, 2u, k); ATOMIC_OR_U32(marks, 0u, 1u);
uint old = ATOMIC_ADD_U32(marks, 1u, 1u);
STORE_WORD_b(i, INSERT_b(OLD_WORD_b(i), 1u, y));
STORE_WORD_c(i, INSERT_c(OLD_WORD_c(i), 3u, k));
STORE_WORD_d(i, INSERT_d(OLD_WORD_d(i), 0u, AS_F32(k) + AS_F32(u)));
STORE_WORD_e(i + 3u, INSERT_e(OLD_WORD_e(i), 0u, k) | WORD_e(3u));
STORE_WORD_f(i + 3u, INSERT_f(OLD_WORD_f(i), 0u, u + old));
STORE_d(i, y); STORE_e(i, k); STORE_f(i, u);)"};
}

// The first kernel of each name: the others differ in types alone.
std::vector<KernelSource> one_of_each() {
  std::vector<KernelSource> kernels{every_word()};
  std::set<std::string> seen;
  for (const KernelSource& source : builtin_kernels()) {
    if (seen.insert(source.name).second) kernels.push_back(source);
  }
  return kernels;
}

TEST(Dialects, GlslOfEveryBodyCompiles) {
  if (std::system("glslc --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no glslc";  // NOLINT(concurrency-mt-unsafe)
  const test::TemporaryFolder folder;
  const std::string file = folder.path("body.comp");
  for (const KernelSource& source : one_of_each()) {
    std::ofstream(file) << print(source, Dialect::glsl_vulkan);
    const std::string command =
        fmt::format("glslc -fshader-stage=compute --target-env=vulkan1.1 {} -o {}.spv", file, file);
    EXPECT_EQ(std::system(command.c_str()), 0) << source.name;  // NOLINT(concurrency-mt-unsafe)
  }
}

TEST(Dialects, OpenClOfEveryBuiltinCompiles) {
  Runtime runtime;
  const DeviceContext context(runtime.service<DeviceRegistry>().find("opencl").value());
  const KernelSource source = every_word();
  const Program program(context, name(Dialect::opencl_c), print(source, Dialect::opencl_c),
                        compiler_options(Dialect::opencl_c));
  EXPECT_EQ(EntryPoint(program, entry_point(source)).entry_point(), "vt_every_word");
}

}  // namespace
}  // namespace vectis::test
