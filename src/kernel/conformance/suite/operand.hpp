// One operand of a call on the host: the whole buffer, of which the view is a rectangle. What lies around the rectangle
// belongs to somebody else, and a test sees whether it was left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::conformance {

struct Shape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

// Where a view lies in its buffer. Odd distances put the rows of packed types into the middle of words.
enum class Layout : std::uint8_t { tight, offset, strided, unaligned };
inline constexpr std::size_t layout_count = 4;
std::string_view name(Layout layout) noexcept;
std::optional<Layout> parse_layout(std::string_view name) noexcept;

// What the elements are.
enum class Data : std::uint8_t {
  uniform,     // floats in [-1, 1), integers of their whole range (int32: 20 bits)
  positive,    // floats in [0.5, 1), int8 from 64 to 127: rounding errors add up
  wide,        // floats of many magnitudes, small enough that squares and sums of them stay finite
  special,     // uniform with NaN, infinities and both zeros strewn in; no denormal, which times infinity may be NaN
  infinities,  // uniform with one infinity in most rows
  zeros,       // nothing but zeros of both signs
  ties,        // few different values, so that equal ones meet
  denormals,   // nothing but the smallest numbers of the type
  bits,        // every pattern of bits
  ordered,     // as `special`, with denormals and the largest numbers too: for operations that only compare
};
inline constexpr std::size_t data_count = 10;
std::string_view name(Data data) noexcept;
std::optional<Data> parse_data(std::string_view name) noexcept;

// One thread at a time; different rows may be read by several.
class Operand {
 public:
  // A buffer with a view of `shape` somewhere in it, all of its bytes random.
  Operand(DType type, Shape shape, Layout layout, Random& random);

  void fill(Data data, Random& random);

  [[nodiscard]] DType type() const noexcept { return type_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return shape_.rows; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return shape_.columns; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t stride() const noexcept { return stride_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return bytes_; }

  [[nodiscard]] std::uint32_t bits(std::uint64_t row, std::uint64_t column) const noexcept;
  [[nodiscard]] double value(std::uint64_t row, std::uint64_t column) const noexcept;
  void set_bits(std::uint64_t row, std::uint64_t column, std::uint32_t bits) noexcept;
  // Rounded to the type, by the library's own conversions: what an input is needs no judge.
  void set(std::uint64_t row, std::uint64_t column, double value) noexcept;

  // The first byte outside of the view that differs from `before`, which has the same layout. Empty: none does.
  [[nodiscard]] std::optional<std::uint64_t> changed_neighbor(const Operand& before) const;
  // The first byte of all that differs.
  [[nodiscard]] std::optional<std::uint64_t> changed_byte(const Operand& before) const;

 private:
  [[nodiscard]] std::uint64_t byte_of(std::uint64_t row, std::uint64_t column) const noexcept;
  // The first byte in [begin, end) that differs from `before`.
  [[nodiscard]] std::optional<std::uint64_t> first_change(const Operand& before, std::uint64_t begin,
                                                          std::uint64_t end) const;

  DType type_;
  Shape shape_;
  std::uint64_t size_;  // bytes of an element
  std::uint64_t offset_ = 0;
  std::uint64_t stride_ = 0;
  std::vector<std::byte> bytes_;
};

// --- Values of elements, for the references: computed with arithmetic on doubles alone, so that they share no code
// with the conversions they judge.

// float32, float16 and bfloat16.
bool is_float(DType type) noexcept;
// What the bits of one element mean; exact for every type an operation takes.
double value_of(DType type, std::uint32_t bits) noexcept;
// The element nearest to `value`, ties to even. Floats overflow to infinity and keep NaN (as one quiet pattern) and the
// sign of zero; integers saturate and take NaN to zero.
std::uint32_t bits_of(DType type, double value) noexcept;
// Whether the bits are a NaN of the type; never for integers.
bool is_nan(DType type, std::uint32_t bits) noexcept;

}  // namespace vectis::inline v0_1::conformance
