#include "array/wide.hpp"

#include <cmath>
#include <limits>

namespace vectis::inline v0_1::array {

namespace {

template <class T, class Wide, class Convert>
void load(const std::byte* from, std::size_t count, Wide* out, const Convert& convert) {
  const T* const values = reinterpret_cast<const T*>(from);
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 keeps its sign.
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Wide>(convert(values[i]));
}

template <class T, class Wide, class Convert>
void store(const Wide* from, std::size_t count, std::byte* out, const Convert& convert) {
  T* const values = reinterpret_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) values[i] = convert(from[i]);
}

constexpr auto same = [](auto value) { return value; };

template <class T>
constexpr auto wrap = [](std::int64_t value) { return static_cast<T>(value); };

template <class T>
void wrap_all(std::int64_t* values, std::size_t count) {
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 keeps its sign.
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i]);
}

}  // namespace

void load_wide(DType type, const std::byte* from, std::size_t count, double* out) {
  switch (type) {
    case DType::float64:
      return load<double>(from, count, out, same);
    case DType::float16:
      return load<Half>(from, count, out, [](Half value) { return to_float(value); });
    case DType::bfloat16:
      return load<Bfloat16>(from, count, out, [](Bfloat16 value) { return to_float(value); });
    default:
      return load<float>(from, count, out, same);
  }
}

void load_wide(DType type, const std::byte* from, std::size_t count, std::int64_t* out) {
  switch (type) {
    case DType::int64:
      return load<std::int64_t>(from, count, out, same);
    case DType::int8:
      return load<std::int8_t>(from, count, out, same);
    case DType::uint8:
      return load<std::uint8_t>(from, count, out, same);
    case DType::boolean:
      return load<std::uint8_t>(from, count, out, [](std::uint8_t value) { return value != 0; });
    default:
      return load<std::int32_t>(from, count, out, same);
  }
}

void store_wide(DType type, const double* from, std::size_t count, std::byte* out) {
  const auto to_single = [](double value) { return static_cast<float>(value); };
  switch (type) {
    case DType::float64:
      return store<double>(from, count, out, same);
    case DType::float16:
      return store<Half>(from, count, out, [&](double value) { return to_half(to_single(value)); });
    case DType::bfloat16:
      return store<Bfloat16>(from, count, out, [&](double value) { return to_bfloat16(to_single(value)); });
    default:
      return store<float>(from, count, out, to_single);
  }
}

void store_wide(DType type, const std::int64_t* from, std::size_t count, std::byte* out) {
  switch (type) {
    case DType::int64:
      return store<std::int64_t>(from, count, out, same);
    case DType::int8:
      return store<std::int8_t>(from, count, out, wrap<std::int8_t>);
    case DType::uint8:
      return store<std::uint8_t>(from, count, out, wrap<std::uint8_t>);
    case DType::boolean:
      return store<std::uint8_t>(from, count, out, [](std::int64_t value) { return std::uint8_t{value != 0}; });
    default:
      return store<std::int32_t>(from, count, out, wrap<std::int32_t>);
  }
}

void narrow(DType type, double* values, std::size_t count) {
  if (type == DType::float64) return;
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(values[i]);
}

void narrow(DType type, std::int64_t* values, std::size_t count) {
  switch (type) {
    case DType::int64:
      return;
    case DType::int8:
      return wrap_all<std::int8_t>(values, count);
    case DType::uint8:
      return wrap_all<std::uint8_t>(values, count);
    case DType::boolean: {
      for (std::size_t i = 0; i < count; ++i) values[i] &= 1;
      return;
    }
    default:
      return wrap_all<std::int32_t>(values, count);
  }
}

std::int64_t truncated(DType type, double value) noexcept {
  if (std::isnan(value)) return 0;
  if (type == DType::int64) {
    if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
    if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(value);
  }
  if (value >= 0x1p31) return std::numeric_limits<std::int32_t>::max();
  if (value < -0x1p31) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int64_t>(value);
}

}  // namespace vectis::inline v0_1::array
