#include "device/launch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vectis::inline v0_1::detail {
namespace {

void check_sizes(std::initializer_list<std::uint64_t> sizes) {
  std::vector<VectisArgument> arguments{{VECTIS_ARGUMENT_VALUE, nullptr, nullptr, 1 << 20}};  // not shared: ignored
  for (const std::uint64_t bytes : sizes) arguments.push_back({VECTIS_ARGUMENT_SHARED, nullptr, nullptr, bytes});
  DeviceLimits limits;
  limits.shared_bytes_max = 65536;
  check_shared(arguments, limits);
}

TEST(CheckShared, TheSumMustNotExceedTheLimit) {
  check_sizes({});
  check_sizes({65536});
  check_sizes({65535, 1, 0});
  EXPECT_ERROR(check_sizes({65536, 1}), ErrorCode::invalid_input, "65537 bytes of shared memory", "65536");
}

TEST(CheckShared, ASumBeyond64BitsIsTooMuch) {
  constexpr std::uint64_t half = std::uint64_t{1} << 63U;
  EXPECT_ERROR(check_sizes({half, half}), ErrorCode::invalid_input, "of shared memory");
  EXPECT_ERROR(check_sizes({UINT64_MAX - 63, 128}), ErrorCode::invalid_input, "of shared memory");
  EXPECT_ERROR(check_sizes({128, UINT64_MAX - 63, 64, half}), ErrorCode::invalid_input, "of shared memory");
}

TEST(CheckShape, AProductBeyond64BitsIsTooMuch) {
  DeviceLimits limits;
  limits.group_items_max = 1024;
  limits.group_size_max = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  constexpr std::uint32_t large = std::uint32_t{1} << 31U;
  check_shape({.grid = {1, 1, 1}, .block = {32, 8, 4}}, limits);
  EXPECT_ERROR(check_shape({.grid = {1, 1, 1}, .block = {32, 8, 5}}, limits), ErrorCode::invalid_input, "1280");
  EXPECT_ERROR(check_shape({.grid = {1, 1, 1}, .block = {large, large, 4}}, limits), ErrorCode::invalid_input, "1024");
}

TEST(CheckShape, AllDimensionsOfTheGridCount) {
  constexpr std::uint32_t large = std::uint32_t{1} << 16U;
  const DeviceLimits limits;
  check_shape({.grid = {UINT32_MAX, 1, 1}, .block = {1, 1, 1}}, limits);
  check_shape({.grid = {large, large - 1, 1}, .block = {1, 1, 1}}, limits);
  EXPECT_ERROR(check_shape({.grid = {large, large, 1}, .block = {1, 1, 1}}, limits), ErrorCode::invalid_input,
               "65536 x 65536 x 1 work-groups", "4294967295", "several launches");
  EXPECT_ERROR(check_shape({.grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, .block = {1, 1, 1}}, limits),
               ErrorCode::invalid_input, "4294967295 in all");
}

}  // namespace
}  // namespace vectis::inline v0_1::detail
