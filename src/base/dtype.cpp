#include "vectis/base/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace vectis::inline v0_1 {

namespace {

struct Entry {
  DType type;
  std::string_view name;
  std::string_view short_name;
  std::size_t bytes;
};

constexpr std::array table{
    Entry{DType::float32, "float32", "f32", 4},     Entry{DType::float16, "float16", "f16", 2},
    Entry{DType::bfloat16, "bfloat16", "bf16", 2},  Entry{DType::int8, "int8", "i8", 1},
    Entry{DType::int32, "int32", "i32", 4},         Entry{DType::boolean, "bool", "bool", 1},
    Entry{DType::float64, "float64", "f64", 8},     Entry{DType::int64, "int64", "i64", 8},
    Entry{DType::complex64, "complex64", "c64", 8}, Entry{DType::uint32, "uint32", "u32", 4},
    Entry{DType::uint8, "uint8", "u8", 1},
};

constexpr auto types = [] {
  std::array<DType, table.size()> result{};
  for (std::size_t i = 0; i < table.size(); ++i) result[i] = table[i].type;
  return result;
}();

const Entry* find(DType type) noexcept {
  const auto* const found = std::find_if(table.begin(), table.end(), [&](auto& entry) { return entry.type == type; });
  return found == table.end() ? nullptr : found;
}

struct PrecisionEntry {
  std::string_view name;
  DType type;
};

constexpr std::array<PrecisionEntry, 4> precisions = {
    {{"fp32", DType::float32}, {"fp16", DType::float16}, {"bf16", DType::bfloat16}, {"int8", DType::int8}}};

const PrecisionEntry* find(Precision precision) noexcept {
  const std::size_t index = static_cast<std::size_t>(precision) - 1;  // Precision counts from 1
  return index < precisions.size() ? &precisions[index] : nullptr;
}

// `value` >> `bits`, rounded to nearest, ties to even. A carry propagates into the exponent.
constexpr std::uint32_t shift_rounded(std::uint32_t value, unsigned bits) noexcept {
  const std::uint32_t below_half = (1U << (bits - 1)) - 1;
  return (value + below_half + ((value >> bits) & 1U)) >> bits;
}

constexpr std::uint32_t float_infinity = 0x7f800000U;
constexpr std::uint32_t float_sign = 0x80000000U;

}  // namespace

std::span<const DType> all_dtypes() noexcept { return types; }

std::string_view name(DType type) noexcept {
  const Entry* const entry = find(type);
  return entry == nullptr ? "unknown" : entry->name;
}

std::string_view short_name(DType type) noexcept {
  const Entry* const entry = find(type);
  return entry == nullptr ? "unknown" : entry->short_name;
}

std::size_t size_of(DType type) noexcept {
  const Entry* const entry = find(type);
  return entry == nullptr ? 0 : entry->bytes;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Entry& entry : table) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

Half to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & float_sign) >> 16;
  const std::uint32_t magnitude = bits & ~float_sign;
  std::uint32_t result = 0;
  if (magnitude > float_infinity) {
    result = 0x7e00U | ((magnitude >> 13) & 0x3ffU);  // a quiet NaN with the upper bits of its payload
  } else if (magnitude >= 0x47800000U) {              // 65536 and above, including infinity
    result = 0x7c00U;
  } else if (magnitude >= 0x38800000U) {  // 2^-14 and above is normal; rounding may carry into infinity
    result = shift_rounded(magnitude - 0x38000000U, 13);
  } else if (magnitude > 0x33000000U) {  // above 2^-25, half of the smallest subnormal; 2^-25 itself ties to zero
    const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    result = shift_rounded(mantissa, 126 - (magnitude >> 23));
  }
  return {static_cast<std::uint16_t>(sign | result)};
}

float to_float(Half value) noexcept {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = value.bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24, exact in binary32
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa == 0 ? 0 : 0x400000U;
    return std::bit_cast<float>(sign | float_infinity | quiet | (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

Bfloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & ~float_sign) > float_infinity;
  return {static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40U : shift_rounded(bits, 16))};
}

float to_float(Bfloat16 value) noexcept { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

std::string_view name(Precision precision) noexcept {
  const PrecisionEntry* const entry = find(precision);
  return entry == nullptr ? "unknown" : entry->name;
}

DType dtype_of(Precision precision) noexcept {
  const PrecisionEntry* const entry = find(precision);
  return entry == nullptr ? DType::float32 : entry->type;
}

std::size_t size_of(Precision precision) noexcept { return size_of(dtype_of(precision)); }

}  // namespace vectis::inline v0_1
