#include "vectis/base/precision.hpp"

namespace vectis::inline v0_1 {

std::string_view name(Precision precision) noexcept {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::int8:
      return "int8";
  }
  return "unknown";
}

DType dtype_of(Precision precision) noexcept {
  switch (precision) {
    case Precision::fp16:
      return DType::float16;
    case Precision::bf16:
      return DType::bfloat16;
    case Precision::int8:
      return DType::int8;
    case Precision::fp32:
      break;
  }
  return DType::float32;
}

std::size_t size_of(Precision precision) noexcept { return size_of(dtype_of(precision)); }

}  // namespace vectis::inline v0_1
