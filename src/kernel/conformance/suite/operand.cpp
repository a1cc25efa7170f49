#include "kernel/conformance/suite/operand.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/conformance/suite/values.hpp"

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

std::optional<std::uint64_t> Operand::changed_neighbour(const Operand& before) const {
  std::uint64_t begin = 0;
  for (std::uint64_t row = 0; row < shape_.rows; ++row) {
    if (const auto changed = first_change(before, begin, byte_of(row, 0))) return changed;
    begin = byte_of(row, shape_.columns);
  }
  return first_change(before, begin, bytes_.size());
}

}  // namespace vectis::inline v0_1::conformance
