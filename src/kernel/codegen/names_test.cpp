#include <gmock/gmock.h>

#include "vectis/kernel/source.hpp"

namespace vectis {
namespace {

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
