// Arrays of Python as memory that the library reads, and new NumPy arrays for its answers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/search/index.hpp"

namespace vectis::python {

// Holds the memory of an object with the buffer protocol. Make and destroy it with the GIL.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  // Takes the buffer of `object` with format, shape and strides, and returns whether the object has one.
  bool take(nanobind::handle object);
  [[nodiscard]] const Py_buffer& view() const noexcept { return view_; }
  // Returns the format without the sign for the byte order of this machine, such as "f".
  [[nodiscard]] std::string_view format() const noexcept;

 private:
  Py_buffer view_ = {};
};

// Rows of floats in a Python object: a NumPy array, or whatever has the buffer protocol, DLPack, the Arrow C data
// interface (fixed-size lists), `__array_interface__`, or lists of numbers. Rows of float32 that are contiguous in
// themselves are read in place; other element types and layouts are converted by NumPy. A one-dimensional array is one
// row. Make and destroy it with the GIL; `view()` is valid without.
class FloatRows {
 public:
  // Throws InvalidInput, naming `op`, when the object is no array of real numbers, has more than two dimensions, its
  // rows do not have `dim` floats, or would have to be copied although `copy` is false.
  FloatRows(nanobind::handle object, std::size_t dim, std::string_view op, bool copy = true);

  [[nodiscard]] const MatrixView& view() const noexcept { return view_; }
  [[nodiscard]] bool one_row() const noexcept { return one_row_; }  // the object has one dimension

 private:
  bool read_in_place();
  void check_shape(std::size_t dim, std::string_view op);

  Buffer buffer_;
  MatrixView view_;
  bool one_row_ = false;
};

// Ids in a Python object: an array of integers, a sequence of ints, a range, or one int. Ids are 0 to 2^63 - 1.
class Ids {
 public:
  // Throws InvalidInput, naming `op`, when the object does not hold integers in one dimension, or one is negative.
  Ids(nanobind::handle object, std::string_view op);
  Ids(const Ids&) = delete;
  Ids& operator=(const Ids&) = delete;

  [[nodiscard]] std::span<const std::uint64_t> span() const noexcept { return ids_; }
  [[nodiscard]] bool one() const noexcept { return one_; }  // the object is an int

 private:
  Buffer buffer_;
  std::uint64_t single_ = 0;
  std::span<const std::uint64_t> ids_;
  bool one_ = false;
};

enum class Element : std::uint8_t { int64, float32, float64 };

// A new NumPy array without defined content. `data` is valid as long as `object` lives.
struct NewArray {
  nanobind::object object;
  void* data = nullptr;
};

// Makes an array of one dimension, or of two when `columns` is set. Needs the GIL.
NewArray make_array(Element element, std::size_t rows, std::optional<std::size_t> columns = std::nullopt);

// Copies ids into a new array of int64, in which ids of 2^63 and above are negative. Needs the GIL.
nanobind::object make_id_array(std::span<const std::uint64_t> ids);
// Copies floats into a new array of float32. Needs the GIL.
nanobind::object make_float_array(std::span<const float> values);

}  // namespace vectis::python
