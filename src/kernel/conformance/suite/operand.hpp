// One operand of a call on the host: the whole buffer, of which the view is a rectangle. Tests check that an
// operation leaves the bytes around the rectangle unchanged.
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

// Where a view lies in its buffer: without gaps (tight), after a random odd offset (offset), with gaps between the
// rows (strided), or both (unaligned). Odd distances put the rows of packed types into the middle of words.
enum class Layout : std::uint8_t { tight, offset, strided, unaligned };
inline constexpr std::size_t layout_count = 4;
std::string_view name(Layout layout) noexcept;
// Returns the layout with that name, as in "strided"; nothing if there is none.
std::optional<Layout> parse_layout(std::string_view name) noexcept;

// The values with which Operand::fill() fills an operand.
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
// Returns the kind of data with that name, as in "special"; nothing if there is none.
std::optional<Data> parse_data(std::string_view name) noexcept;

// One operand of an operation in host memory: a buffer and the view (a matrix) in it. One thread at a time may change
// it; several may read it.
class Operand {
 public:
  // Makes a buffer of random bytes with a view of `shape` in it, placed as `layout` says. Throws only std::bad_alloc
  // or std::length_error, if the buffer does not fit in memory.
  Operand(DType type, Shape shape, Layout layout, Random& random);

  // Fills the view with random elements of a kind; the bytes around the view stay. Requires float32, float16,
  // bfloat16, int8 or int32.
  void fill(Data data, Random& random);

  [[nodiscard]] DType type() const noexcept { return type_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return shape_.rows; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return shape_.columns; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t stride() const noexcept { return stride_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return bytes_; }

  // Returns the bits of an element, in the low bits for types of less than 32 bits. Requires row < rows() and
  // column < columns(); does not check them.
  [[nodiscard]] std::uint32_t bits(std::uint64_t row, std::uint64_t column) const noexcept;
  // Returns the exact value of an element of a float or signed integer type. Requires row < rows() and
  // column < columns(); does not check them.
  [[nodiscard]] double value(std::uint64_t row, std::uint64_t column) const noexcept;
  // Writes the bits of an element; bits beyond the size of the type are ignored. Requires row < rows() and
  // column < columns(); does not check them.
  void set_bits(std::uint64_t row, std::uint64_t column, std::uint32_t bits) noexcept;
  // Writes an element, rounded to the type (floats by the library's own conversions, which tests of inputs need not
  // judge; integers saturate). Requires row < rows() and column < columns(); does not check them.
  void set(std::uint64_t row, std::uint64_t column, double value) noexcept;

  // Returns the offset of the first byte outside of the view that differs from `before`; nothing if none does.
  // Requires that `before` has the same type, shape and layout (a copy of this operand); does not check it.
  [[nodiscard]] std::optional<std::uint64_t> changed_neighbor(const Operand& before) const;
  // Returns the offset of the first byte of the whole buffer that differs from `before`; nothing if none does.
  // Requires buffers of equal size; does not check it.
  [[nodiscard]] std::optional<std::uint64_t> changed_byte(const Operand& before) const;

 private:
  [[nodiscard]] std::uint64_t byte_of(std::uint64_t row, std::uint64_t column) const noexcept;
  // Returns the offset of the first byte in [begin, end) that differs from `before`; nothing if none does.
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

// Returns whether the type is float32, float16 or bfloat16.
bool is_float(DType type) noexcept;
// Returns the exact value of an element with these bits. Requires float32, float16, bfloat16, int8 or int32; any
// other type is read as float32. Does not throw.
double value_of(DType type, std::uint32_t bits) noexcept;
// Returns the bits of the element nearest to `value`, ties to even. Requires float32, float16, bfloat16, int8 or
// int32; any other type is treated as float32. Floats overflow to infinity and keep NaN (as one quiet pattern) and
// the sign of zero; integers saturate and take NaN to zero.
std::uint32_t bits_of(DType type, double value) noexcept;
// Returns whether the bits are a NaN of the type; false for integers.
bool is_nan(DType type, std::uint32_t bits) noexcept;

}  // namespace vectis::inline v0_1::conformance
