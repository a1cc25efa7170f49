#include <algorithm>
#include <array>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::array<std::string_view, 6> dialect_names = {"opencl-c",    "cuda-c++",    "hip-c++",
                                                           "glsl-vulkan", "glsl-webgpu", "wgsl"};

}  // namespace

std::string_view name(Dialect dialect) noexcept { return dialect_names[static_cast<std::size_t>(dialect)]; }

std::optional<Dialect> parse_dialect(std::string_view name) {
  const auto* const found = std::ranges::find(dialect_names, name);
  if (found == dialect_names.end()) return std::nullopt;
  return static_cast<Dialect>(found - dialect_names.begin());
}

std::uint32_t lanes(DType type) noexcept {
  switch (type) {
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int8:
      return 4;
    default:
      return 1;
  }
}

bool is_kernel_type(DType type) noexcept {
  switch (type) {
    case DType::float32:
    case DType::int32:
    case DType::uint32:
    case DType::float16:
    case DType::bfloat16:
    case DType::int8:
      return true;
    default:
      return false;
  }
}

}  // namespace vectis::inline v0_1
