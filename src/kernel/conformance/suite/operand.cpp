#include "kernel/conformance/suite/operand.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::array<std::string_view, layout_count> layout_names = {"tight", "offset", "strided", "unaligned"};
constexpr std::uint64_t word_bytes = 4;

template <class Enum, std::size_t count>
std::optional<Enum> parse(const std::array<std::string_view, count>& names, std::string_view text) {
  const auto* const found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// What every pattern of a 16-bit type means, looked up because references ask for little else.
const std::vector<double>& short_values(DType type) {
  const auto table = [](DType of) {
    std::vector<double> values(1U << 16);
    for (std::uint32_t bits = 0; bits < values.size(); ++bits) values[bits] = value_of(of, bits);
    return values;
  };
  static const std::vector<double> halves = table(DType::float16);
  static const std::vector<double> brains = table(DType::bfloat16);
  return type == DType::float16 ? halves : brains;
}

}  // namespace

std::string_view name(Layout layout) noexcept { return layout_names[static_cast<std::size_t>(layout)]; }
std::optional<Layout> parse_layout(std::string_view text) noexcept { return parse<Layout>(layout_names, text); }

Operand::Operand(DType type, Shape shape, Layout layout, Random& random)
    : type_(type), shape_(shape), size_(size_of(type)), stride_(shape.columns) {
  std::uint64_t tail = 0;
  if (layout == Layout::offset || layout == Layout::unaligned) offset_ = 1 + 2 * random.below(8);
  if (layout == Layout::strided || layout == Layout::unaligned) stride_ += 1 + random.below(9);
  if (layout == Layout::strided) offset_ = 16 * random.below(3);
  if (layout != Layout::tight) tail = 1 + random.below(40);
  const std::uint64_t last = shape.rows == 0 ? offset_ : offset_ + (shape.rows - 1) * stride_ + shape.columns;
  const std::uint64_t needed = (last + tail) * size_;
  bytes_.resize(std::max(word_bytes, (needed + word_bytes - 1) / word_bytes * word_bytes));
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (i % sizeof(drawn) == 0) drawn = random.next();
    bytes_[i] = static_cast<std::byte>(drawn >> (8 * (i % sizeof(drawn))));
  }
}

std::uint64_t Operand::byte_of(std::uint64_t row, std::uint64_t column) const noexcept {
  return (offset_ + row * stride_ + column) * size_;
}

std::uint32_t Operand::bits(std::uint64_t row, std::uint64_t column) const noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes_.data() + byte_of(row, column), size_);
  return bits;
}

double Operand::value(std::uint64_t row, std::uint64_t column) const noexcept {
  const std::uint32_t found = bits(row, column);
  if (type_ == DType::float16 || type_ == DType::bfloat16) return short_values(type_)[found];
  if (type_ != DType::float32) return value_of(type_, found);
  float number = 0;  // the one float format the host reads by itself
  std::memcpy(&number, &found, sizeof(number));
  return number;
}

void Operand::set_bits(std::uint64_t row, std::uint64_t column, std::uint32_t bits) noexcept {
  std::memcpy(bytes_.data() + byte_of(row, column), &bits, size_);
}

void Operand::set(std::uint64_t row, std::uint64_t column, double value) noexcept {
  const auto number = static_cast<float>(value);
  if (type_ == DType::float16) return set_bits(row, column, to_half(number).bits);
  if (type_ == DType::bfloat16) return set_bits(row, column, to_bfloat16(number).bits);
  if (type_ != DType::float32) return set_bits(row, column, bits_of(type_, value));
  std::memcpy(bytes_.data() + byte_of(row, column), &number, sizeof(number));
}

std::optional<std::uint64_t> Operand::first_change(const Operand& before, std::uint64_t begin,
                                                   std::uint64_t end) const {
  if (std::memcmp(bytes_.data() + begin, before.bytes_.data() + begin, end - begin) == 0) return std::nullopt;
  while (bytes_[begin] == before.bytes_[begin]) ++begin;
  return begin;
}

std::optional<std::uint64_t> Operand::changed_byte(const Operand& before) const {
  return first_change(before, 0, bytes_.size());
}

std::optional<std::uint64_t> Operand::changed_neighbor(const Operand& before) const {
  std::uint64_t begin = 0;
  for (std::uint64_t row = 0; row < shape_.rows; ++row) {
    if (const auto changed = first_change(before, begin, byte_of(row, 0))) return changed;
    begin = byte_of(row, shape_.columns);
  }
  return first_change(before, begin, bytes_.size());
}

namespace {

// A binary floating-point format: bits of the significand with the leading one, exponents of normal values, total bits.
struct Format {
  int digits;
  int min_exponent;
  int max_exponent;
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
  const int exponent = std::max(std::ilogb(magnitude), format.min_exponent);
  const double quantum = std::ldexp(1.0, exponent - format.fraction_bits());
  const double rounded = std::nearbyint(magnitude / quantum) * quantum;
  if (rounded >= std::ldexp(1.0, format.max_exponent + 1)) return encode(format, negative, format.exponent_mask(), 0);
  if (rounded < std::ldexp(1.0, format.min_exponent)) {
    return encode(format, negative, 0,
                  static_cast<std::uint32_t>(std::ldexp(rounded, format.fraction_bits() - format.min_exponent)));
  }
  const int kept = std::ilogb(rounded);
  const auto significand = static_cast<std::uint32_t>(std::ldexp(rounded, format.fraction_bits() - kept));
  return encode(format, negative, static_cast<std::uint32_t>(kept - format.min_exponent + 1),
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
  const int power = exponent == 0 ? format.min_exponent : static_cast<int>(exponent) + format.min_exponent - 1;
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
