#include <algorithm>
#include <array>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::array<std::string_view, 6> dialect_names = {"opencl-c",    "cuda-c++",    "hip-c++",
                                                           "glsl-vulkan", "glsl-webgpu", "wgsl"};
constexpr std::array<std::string_view, 6> element_names = {"f32", "i32", "u32", "f16", "bf16", "i8"};

}  // namespace

std::string_view name(Dialect dialect) noexcept { return dialect_names[static_cast<std::size_t>(dialect)]; }

std::optional<Dialect> parse_dialect(std::string_view name) {
  const auto* const found = std::ranges::find(dialect_names, name);
  if (found == dialect_names.end()) return std::nullopt;
  return static_cast<Dialect>(found - dialect_names.begin());
}

std::string_view name(Element element) noexcept { return element_names[static_cast<std::size_t>(element)]; }

std::uint32_t lanes(Element element) noexcept {
  switch (element) {
    case Element::f16:
    case Element::bf16:
      return 2;
    case Element::i8:
      return 4;
    default:
      return 1;
  }
}

std::optional<Element> element_of(DType type) noexcept {
  switch (type) {
    case DType::float32:
      return Element::f32;
    case DType::float16:
      return Element::f16;
    case DType::bfloat16:
      return Element::bf16;
    case DType::int8:
      return Element::i8;
    case DType::int32:
      return Element::i32;
    default:
      return std::nullopt;
  }
}

DType dtype_of(Element element) noexcept {
  switch (element) {
    case Element::f32:
      return DType::float32;
    case Element::f16:
      return DType::float16;
    case Element::bf16:
      return DType::bfloat16;
    case Element::i8:
      return DType::int8;
    default:
      return DType::int32;
  }
}

}  // namespace vectis::inline v0_1
