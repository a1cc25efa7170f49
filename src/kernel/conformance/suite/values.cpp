#include "kernel/conformance/suite/values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vectis::inline v0_1::conformance {

namespace {

// A binary floating-point format: digits of the significand with the leading one, and the exponents of normal numbers.
struct Format {
  int digits;
  int least;
  int most;
  int width;
  [[nodiscard]] int fraction_bits() const { return digits - 1; }
  [[nodiscard]] std::uint32_t exponent_mask() const { return (1U << (width - digits)) - 1; }
};

constexpr Format format_of(DType type) {
  if (type == DType::float16) return {11, -14, 15, 16};
  if (type == DType::bfloat16) return {8, -126, 127, 16};
  return {24, -126, 127, 32};
}

std::uint32_t encode(const Format& format, bool negative, std::uint32_t exponent, std::uint32_t fraction) {
  const std::uint32_t sign = negative ? 1U << (format.width - 1) : 0;
  return sign | (exponent << format.fraction_bits()) | fraction;
}

std::uint32_t float_bits(const Format& format, double value) {
  const bool negative = std::signbit(value);
  if (std::isnan(value)) return encode(format, false, format.exponent_mask(), 1U << (format.fraction_bits() - 1));
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return encode(format, negative, 0, 0);
  if (std::isinf(magnitude)) return encode(format, negative, format.exponent_mask(), 0);
  // Both divisions are by powers of two and so exact; nearbyint is the one rounding, to nearest even.
  const int exponent = std::max(std::ilogb(magnitude), format.least);
  const double quantum = std::ldexp(1.0, exponent - format.fraction_bits());
  const double rounded = std::nearbyint(magnitude / quantum) * quantum;
  if (rounded >= std::ldexp(1.0, format.most + 1)) return encode(format, negative, format.exponent_mask(), 0);
  if (rounded < std::ldexp(1.0, format.least)) {
    return encode(format, negative, 0,
                  static_cast<std::uint32_t>(std::ldexp(rounded, format.fraction_bits() - format.least)));
  }
  const int kept = std::ilogb(rounded);
  const auto significand = static_cast<std::uint32_t>(std::ldexp(rounded, format.fraction_bits() - kept));
  return encode(format, negative, static_cast<std::uint32_t>(kept - format.least + 1),
                significand - (1U << format.fraction_bits()));
}

double float_value(const Format& format, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1U << format.fraction_bits()) - 1);
  const std::uint32_t exponent = (bits >> format.fraction_bits()) & format.exponent_mask();
  const double sign = (bits >> (format.width - 1)) != 0 ? -1.0 : 1.0;
  if (exponent == format.exponent_mask()) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const std::uint32_t significand = exponent == 0 ? fraction : fraction + (1U << format.fraction_bits());
  const int power = exponent == 0 ? format.least : static_cast<int>(exponent) + format.least - 1;
  return sign * std::ldexp(significand, power - format.fraction_bits());
}

std::uint32_t integer_bits(double value, double least, double most, std::uint32_t mask) {
  if (std::isnan(value)) return 0;
  const double kept = std::clamp(std::nearbyint(value), least, most);
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(kept)) & mask;
}

}  // namespace

bool is_float(DType type) noexcept {
  return type == DType::float32 || type == DType::float16 || type == DType::bfloat16;
}

double value_of(DType type, std::uint32_t bits) noexcept {
  if (type == DType::int8) return static_cast<std::int8_t>(bits);
  if (type == DType::int32) return static_cast<std::int32_t>(bits);
  return float_value(format_of(type), bits);
}

std::uint32_t bits_of(DType type, double value) noexcept {
  if (type == DType::int8) return integer_bits(value, -128, 127, 0xFF);
  if (type == DType::int32) return integer_bits(value, -2147483648.0, 2147483647.0, 0xFFFFFFFF);
  return float_bits(format_of(type), value);
}

bool is_nan(DType type, std::uint32_t bits) noexcept { return is_float(type) && std::isnan(value_of(type, bits)); }

}  // namespace vectis::inline v0_1::conformance
