#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernel/conformance/suite/operand.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::array<std::string_view, data_count> data_names = {
    "uniform", "positive", "wide", "special", "infinities", "zeros", "ties", "denormals", "bits", "ordered"};

// One in so many elements is special.
constexpr std::uint64_t special_rarity = 97;

double infinity(Random& random) {
  const double value = std::numeric_limits<double>::infinity();
  return random.below(2) == 0 ? value : -value;
}

// The exponent of the smallest normal number.
int min_exponent(DType type) { return type == DType::float16 ? -14 : -126; }
int fraction_bits(DType type) { return type == DType::float16 ? 10 : type == DType::bfloat16 ? 7 : 23; }

double uniform(DType type, Random& random) {
  if (type == DType::int8) return static_cast<double>(random.below(256)) - 128;
  if (type == DType::int32) return static_cast<double>(random.below(1U << 20)) - (1 << 19);
  return 2 * random.unit() - 1;
}

double positive(DType type, Random& random) {
  if (type == DType::int8) return static_cast<double>(64 + random.below(64));
  if (type == DType::int32) return static_cast<double>(random.below(1U << 20));
  return 0.5 + random.unit() / 2;
}

double wide(DType type, Random& random) {
  if (!is_float(type)) return uniform(type, random);
  const int reach = type == DType::float16 ? 10 : 20;
  const int power = static_cast<int>(random.below(static_cast<std::uint64_t>(2 * reach))) - reach;
  return std::ldexp(uniform(type, random), power);
}

double denormal(DType type, Random& random) {
  if (!is_float(type)) return static_cast<double>(random.below(3)) - 1;
  const std::uint64_t count = 1ULL << fraction_bits(type);
  const double size = std::ldexp(static_cast<double>(random.below(count)), min_exponent(type) - fraction_bits(type));
  return random.below(2) == 0 ? size : -size;
}

double special(DType type, Random& random) {
  if (!is_float(type)) return random.below(2) == 0 ? -128 : 127;
  switch (random.below(4)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return infinity(random);
    case 2:
      return 0.0;
    default:
      return -0.0;
  }
}

double extreme(DType type, Random& random) {
  if (type == DType::int8) return random.below(2) == 0 ? -128 : 127;
  if (type == DType::int32) return random.below(2) == 0 ? -2147483648.0 : 2147483647.0;
  const double most = type == DType::float16    ? 65504.0
                      : type == DType::bfloat16 ? std::ldexp(255.0, 120)
                                                : static_cast<double>(std::numeric_limits<float>::max());
  return random.below(2) == 0 ? most : -most;
}

// A NaN of either sign: quiet, or with nothing but the lowest bit, or with every bit of its fraction.
std::uint32_t nan_bits(DType type, Random& random) {
  const std::uint32_t fraction = (1U << fraction_bits(type)) - 1;
  const std::uint32_t sign = 1U << (type == DType::float32 ? 31 : 15);
  const std::uint32_t infinity_bits = (sign - 1) & ~fraction;
  const std::array<std::uint32_t, 3> payloads = {(fraction + 1) / 2, 1, fraction};
  return infinity_bits | payloads[random.below(payloads.size())] | (random.below(2) == 0 ? sign : 0);
}

double drawn(DType type, Data data, Random& random) {
  const bool strewn = random.below(special_rarity) == 0;
  switch (data) {
    case Data::uniform:
    case Data::bits:
      return uniform(type, random);
    case Data::positive:
      return positive(type, random);
    case Data::wide:
      return wide(type, random);
    case Data::special:
      return strewn ? special(type, random) : uniform(type, random);
    case Data::infinities:
      return strewn && is_float(type) ? infinity(random) : uniform(type, random);
    case Data::zeros:
      return random.below(2) == 0 ? 0.0 : -0.0;
    case Data::ties:
      return static_cast<double>(random.below(4)) - 1;
    case Data::denormals:
      return denormal(type, random);
    case Data::ordered:
      if (!strewn) return uniform(type, random);
      if (random.below(3) == 0) return extreme(type, random);
      return random.below(4) == 0 ? denormal(type, random) : special(type, random);
  }
  return 0;
}

}  // namespace

std::string_view name(Data data) noexcept { return data_names[static_cast<std::size_t>(data)]; }

std::optional<Data> parse_data(std::string_view text) noexcept {
  const auto* const found = std::ranges::find(data_names, text);
  if (found == data_names.end()) return std::nullopt;
  return static_cast<Data>(found - data_names.begin());
}

void Operand::fill(Data data, Random& random) {
  for (std::uint64_t row = 0; row < rows(); ++row) {
    for (std::uint64_t column = 0; column < columns(); ++column) {
      if (data == Data::bits) {
        set_bits(row, column, static_cast<std::uint32_t>(random.next()));
        continue;
      }
      const double value = drawn(type_, data, random);
      if (std::isnan(value)) {
        set_bits(row, column, nan_bits(type_, random));
      } else {
        set(row, column, value);
      }
    }
  }
}

}  // namespace vectis::inline v0_1::conformance
