// The built-ins of kernel bodies on PoCL, compared with the same functions on the host.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/kernels/launch.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

class KernelBuiltins : public LaunchTest {};

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

KernelSource load_all(DType element, DType loaded) {
  return {.name = "load_all",
          .buffers = {{"x", element, Access::read}, {"y", loaded, Access::write}},
          .scalars = {{"count", DType::uint32}},
          .body = "uint i = GLOBAL_ID(0);\nif (i < count) { STORE_y(i, LOAD_x(i)); }"};
}

// Each work-item makes one word of the output from LANES_y floats or ints.
KernelSource insert_all(DType element, DType from) {
  return {.name = "insert_all",
          .buffers = {{"x", from, Access::read}, {"y", element, Access::write}},
          .scalars = {{"count", DType::uint32}},
          .body = R"(uint w = GLOBAL_ID(0);
if (w * LANES_y < count) {
  uint word = OLD_WORD_y(w);
  for (uint lane = 0u; lane < LANES_y; lane++) {
    uint i = w * LANES_y + lane;
    if (i < count) { word = INSERT_y(word, lane, LOAD_x(i)); }
  }
  STORE_WORD_y(w, word);
})"};
}

TEST_F(KernelBuiltins, LoadAllHalves) {
  std::vector<Words> arrays{Words(32768), Words(65536)};
  for (std::uint32_t w = 0; w < 32768; ++w) arrays[0][w] = 2 * w | (2 * w + 1) << 16;
  run(load_all(DType::float16, DType::float32), 65536, arrays, {65536U});
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    ASSERT_EQ(arrays[1][bits], as_bits(to_float(Half{static_cast<std::uint16_t>(bits)}))) << bits;
  }
}

TEST_F(KernelBuiltins, LoadAllBfloats) {
  std::vector<Words> arrays{Words(32768), Words(65536)};
  for (std::uint32_t w = 0; w < 32768; ++w) arrays[0][w] = 2 * w | (2 * w + 1) << 16;
  run(load_all(DType::bfloat16, DType::float32), 65536, arrays, {65536U});
  for (std::uint32_t bits = 0; bits < 65536; ++bits) ASSERT_EQ(arrays[1][bits], bits << 16);
}

TEST_F(KernelBuiltins, LoadAllBytesWithTheirSign) {
  std::vector<Words> arrays{Words(64), Words(256)};
  for (std::uint32_t w = 0; w < 64; ++w) arrays[0][w] = 0x03020100U + 0x04040404U * w;
  run(load_all(DType::int8, DType::int32), 256, arrays, {256U});
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    ASSERT_EQ(static_cast<std::int32_t>(arrays[1][byte]), static_cast<std::int8_t>(byte));
  }
}

// Every value of 16 bits, its neighbors in binary32 and those of the middle to the next one, and random bits.
std::vector<std::uint32_t> rounding_cases(Random& random) {
  std::vector<std::uint32_t> cases;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const std::uint32_t half = as_bits(to_float(Half{static_cast<std::uint16_t>(bits)}));
    const std::uint32_t middle = as_bits((as_float(half) + to_float(Half{static_cast<std::uint16_t>(bits + 1)})) / 2);
    cases.insert(cases.end(), {half, half - 1, half + 1, middle, middle - 1, middle + 1});
    cases.insert(cases.end(), {bits << 16 | 0x7fffU, bits << 16 | 0x8000U, bits << 16 | 0x8001U});
  }
  while (cases.size() < 1'000'001) cases.push_back(static_cast<std::uint32_t>(random.next()));  // odd: a last half word
  return cases;
}

TEST_F(KernelBuiltins, InsertRoundsToHalfAsTheHostDoes) {
  Random random(seed());
  const Words cases = rounding_cases(random);
  std::vector<Words> arrays{cases, Words((cases.size() + 1) / 2, 0xabcdabcdU)};
  run(insert_all(DType::float16, DType::float32), static_cast<std::uint32_t>(arrays[1].size()), arrays,
      {static_cast<std::uint32_t>(cases.size())});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(arrays[1][i / 2] >> (16 * (i % 2)) & 0xffffU, to_half(as_float(cases[i])).bits) << std::hex << cases[i];
  }
  EXPECT_EQ(arrays[1].back() >> 16, 0xabcdU) << "the lane beyond the end keeps its bits";
}

TEST_F(KernelBuiltins, InsertRoundsToBfloatAsTheHostDoes) {
  Random random(seed());
  const Words cases = rounding_cases(random);
  std::vector<Words> arrays{cases, Words((cases.size() + 1) / 2, 0xabcdabcdU)};
  run(insert_all(DType::bfloat16, DType::float32), static_cast<std::uint32_t>(arrays[1].size()), arrays,
      {static_cast<std::uint32_t>(cases.size())});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(arrays[1][i / 2] >> (16 * (i % 2)) & 0xffffU, to_bfloat16(as_float(cases[i])).bits)
        << std::hex << cases[i];
  }
}

TEST_F(KernelBuiltins, InsertSaturatesToBytes) {
  Words cases;
  for (std::int32_t value = -300; value <= 300; ++value) cases.push_back(static_cast<std::uint32_t>(value));
  cases.insert(cases.end(), {0x7fffffffU, 0x80000000U});
  std::vector<Words> arrays{cases, Words((cases.size() + 3) / 4)};
  run(insert_all(DType::int8, DType::int32), static_cast<std::uint32_t>(arrays[1].size()), arrays,
      {static_cast<std::uint32_t>(cases.size())});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto expected = std::clamp(static_cast<std::int32_t>(cases[i]), -128, 127);
    ASSERT_EQ(static_cast<std::int8_t>(arrays[1][i / 4] >> (8 * (i % 4))), expected);
  }
}

TEST_F(KernelBuiltins, WordsOf32BitElementsAreTheirBits) {
  Random random(seed());
  for (const DType element : {DType::float32, DType::int32, DType::uint32}) {
    KernelSource copy{
        .name = "copy_words",
        .buffers = {{"x", element, Access::read}, {"y", element, Access::write}},
        .body = "uint i = GLOBAL_ID(0); STORE_WORD_y(i, INSERT_y(OLD_WORD_y(i), 0u, LOAD_x(i)) | WORD_x(i));"};
    std::vector<Words> arrays{Words(4096), Words(4096)};
    for (std::uint32_t& word : arrays[0]) word = static_cast<std::uint32_t>(random.next());
    run(copy, 4096, arrays);
    EXPECT_EQ(arrays[0], arrays[1]) << short_name(element);
  }
}

// A word that takes up to two floats, for all pairs of `values`.
TEST_F(KernelBuiltins, MathFunctionsAgreeWithTheHost) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{0.0F, -0.0F, 1.0F, -1.0F, 0.5F,   1.5F,     2.5F,      -2.5F, 1e-40F,
                                  3e9F, -3e9F, 5e9F, 1e30F, 127.6F, infinity, -infinity, nan,   8388609.0F};
  KernelSource all{.name = "functions",
                   .buffers = {{"x", DType::float32, Access::read}, {"y", DType::uint32, Access::write}},
                   .scalars = {{"count", DType::uint32}},
                   .body = R"(uint i = GLOBAL_ID(0);
if (i >= count * count) { return; }
float a = LOAD_x(i / count);
float b = LOAD_x(i % count);
STORE_y(i * 12u, AS_U32(MIN(a, b)));
STORE_y(i * 12u + 1u, AS_U32(MAX(a, b)));
STORE_y(i * 12u + 2u, AS_U32(FMA(a, b, a)));
STORE_y(i * 12u + 3u, AS_U32(ROUND(a)));
STORE_y(i * 12u + 4u, AS_U32(FLOOR(a)));
STORE_y(i * 12u + 5u, AS_U32(SQRT(ABS(a))));
STORE_y(i * 12u + 6u, AS_U32(I32_SATURATED(a)));
STORE_y(i * 12u + 7u, U32_SATURATED(a));
STORE_y(i * 12u + 8u, IS_NAN(a) ? 1u : 0u);
STORE_y(i * 12u + 9u, AS_U32(CLAMP(a, -1.0f, F32_INFINITY)));
STORE_y(i * 12u + 10u, AS_U32(SIGN(a)));
STORE_y(i * 12u + 11u, AS_U32(a * b + a));)"};
  const auto count = static_cast<std::uint32_t>(values.size());
  std::vector<Words> arrays{{}, Words(std::size_t{12} * count * count)};
  for (const float value : values) arrays[0].push_back(as_bits(value));
  run(all, count * count, arrays, {count});
  const auto expect = [&](std::size_t i, std::size_t place, float expected, const char* word) {
    const float actual = as_float(arrays[1][i * 12 + place]);
    if (std::isnan(expected) && std::isnan(actual)) return;
    // which of two zeros a minimum is, is left open
    if (expected == 0 && actual == 0 && place < 2) return;
    EXPECT_EQ(as_bits(actual), as_bits(expected)) << word << " of " << values[i / count] << ", " << values[i % count];
  };
  for (std::size_t i = 0; i < std::size_t{count} * count; ++i) {
    const float a = values[i / count];
    const float b = values[i % count];
    expect(i, 0, std::fmin(a, b), "MIN");
    expect(i, 1, std::fmax(a, b), "MAX");
    expect(i, 2, std::fma(a, b, a), "FMA");
    expect(i, 3, std::nearbyint(a), "ROUND");
    expect(i, 4, std::floor(a), "FLOOR");
    expect(i, 5, std::sqrt(std::fabs(a)), "SQRT");
    expect(i, 9, std::isnan(a) ? -1.0F : std::fmax(a, -1.0F), "CLAMP");
    expect(i, 10, a > 0 ? 1.0F : a < 0 ? -1.0F : a, "SIGN");
    expect(i, 11, a * b + a, "two roundings");
    const double whole = std::isnan(a) ? 0 : std::trunc(static_cast<double>(a));
    EXPECT_EQ(static_cast<std::int32_t>(arrays[1][i * 12 + 6]),
              static_cast<std::int32_t>(std::clamp(whole, -2147483648.0, 2147483647.0)))
        << a;
    EXPECT_EQ(arrays[1][i * 12 + 7], static_cast<std::uint32_t>(std::clamp(whole, 0.0, 4294967295.0))) << a;
    EXPECT_EQ(arrays[1][i * 12 + 8], std::isnan(a) ? 1U : 0U);
  }
}

TEST_F(KernelBuiltins, Dot4OfInt8IsExact) {
  KernelSource dot{.name = "dot",
                   .buffers = {{"a", DType::int8, Access::read},
                               {"b", DType::int8, Access::read},
                               {"y", DType::int32, Access::write}},
                   .body = "uint i = GLOBAL_ID(0); STORE_y(i, DOT4_I8(WORD_a(i), WORD_b(i), I32(i)));"};
  Random random(seed());
  std::vector<Words> arrays{Words(1024), Words(1024), Words(1024)};
  for (std::size_t i = 0; i < 1024; ++i) {
    arrays[0][i] = static_cast<std::uint32_t>(random.next());
    arrays[1][i] = static_cast<std::uint32_t>(random.next());
  }
  run(dot, 1024, arrays);
  for (std::size_t i = 0; i < 1024; ++i) {
    auto expected = static_cast<std::int32_t>(i);
    for (unsigned lane = 0; lane < 4; ++lane) {
      expected +=
          static_cast<std::int8_t>(arrays[0][i] >> (8 * lane)) * static_cast<std::int8_t>(arrays[1][i] >> (8 * lane));
    }
    ASSERT_EQ(static_cast<std::int32_t>(arrays[2][i]), expected);
  }
}

TEST_F(KernelBuiltins, GroupsShareArraysAndCountAtomically) {
  KernelSource sum{.name = "group_sum",
                   .buffers = {{"y", DType::uint32, Access::read_write}, {"z", DType::int32, Access::read_write}},
                   .shared = {{"part", DType::uint32, 32}},
                   .group = {32, 1, 1},
                   .functions = "FUNCTION uint twice(uint v) { return v + v; }",
                   .body = R"(uint t = LOCAL_ID(0);
part[t] = twice(GLOBAL_ID(0));
BARRIER();
if (t == 0u) {
  uint total = 0u;
  for (uint k = 0u; k < GROUP_SIZE(0); k++) { total += part[k]; }
  ATOMIC_ADD_U32(y, 0u, total);
  ATOMIC_MAX_U32(y, 1u, GROUP_ID(0));
  ATOMIC_MIN_I32(z, 0u, -I32(GROUP_ID(0)));
  STORE_y(2u + GROUP_ID(0), GROUP_COUNT(0));
})"};
  std::vector<Words> arrays{Words(34), Words(1)};
  run(sum, 1024, arrays);
  EXPECT_EQ(arrays[0][0], 1024U * 1023U);
  EXPECT_EQ(arrays[0][1], 31U);
  EXPECT_EQ(arrays[0][33], 32U);
  EXPECT_EQ(static_cast<std::int32_t>(arrays[1][0]), -31);
}

TEST_F(KernelBuiltins, CompileErrorsNameTheUsersLineAndColumn) {
  const KernelSource wrong{.name = "wrong",
                           .buffers = {{"y", DType::float32, Access::write}},
                           .body = "uint i = GLOBAL_ID(0);\n\n  STORE_y(i, undeclared);"};
  try {
    const Program program(context(), name(Dialect::opencl_c), print(wrong, Dialect::opencl_c));
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile_failed);
    EXPECT_NE(error.detail().find("wrong:3:14"), std::string::npos) << error.detail();
  }
}

}  // namespace
}  // namespace vectis::test
