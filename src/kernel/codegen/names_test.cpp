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
  for (const auto element : {Element::f32, Element::i32, Element::f16, Element::bf16, Element::i8}) {
    EXPECT_EQ(element_of(dtype_of(element)), element);
    EXPECT_EQ(lanes(element) * size_of(dtype_of(element)), 4U) << name(element);
  }
  EXPECT_EQ(element_of(DType::float64), std::nullopt);
}

}  // namespace
}  // namespace vectis
