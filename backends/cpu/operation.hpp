// Named operations on the CPU. Every source file in operations/ defines one or a family of them:
//
//   std::span<const NamedOperation> <file name>_operations();
//
// The build finds it by its file name, so adding an operation is adding a file. docs/operations.md defines each one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/cpu/handles.hpp"
#include "backends/cpu/onednn.hpp"
#include "vectis/device/backend.h"

namespace vectis::cpu {

// One call of a named operation: its matrices, its parameters, and the services that it may use. The host has checked
// shapes, types and parameters against docs/operations.md before, so operations do not check them again.
struct Call {
  std::span<const VectisView> views;
  std::span<const VectisNumber> numbers;
  const Threads& threads;
  OneDnn& onednn;

  // Returns parameter `index` as an integer, or `default_value` when the call has no such parameter. Does not throw.
  [[nodiscard]] std::int64_t integer(std::size_t index, std::int64_t default_value) const {
    return index < numbers.size() ? numbers[index].integer : default_value;
  }
  // Returns parameter `index` as a float64, or `default_value` when the call has no such parameter. Does not throw.
  [[nodiscard]] double real(std::size_t index, double default_value) const {
    return index < numbers.size() ? numbers[index].real : default_value;
  }
};

// The function of a named operation: computes the call and returns VECTIS_OK when the result is written. The host
// must have checked the call. Returns VECTIS_UNSUPPORTED for element types that the operation does not support. May
// throw std::bad_alloc, but never from the body of a parallel loop.
using Run = VectisStatus (*)(const Call& call);

// An entry of the table of operations: the name as in docs/operations.md, and the function that computes it.
struct NamedOperation {
  std::string_view name;
  Run run;
};

// Returns the function of the operation `name` (docs/operations.md), or null when the CPU backend does not define it.
// Thread-safe. The first call builds the table and may throw std::bad_alloc.
Run find_operation(std::string_view name);

// Returns the number of bytes of one element of `type`, or 0 when `type` is no value of VectisType. Does not throw.
constexpr std::size_t size_of(VectisType type) {
  switch (type) {
    case VECTIS_FLOAT32:
    case VECTIS_INT32:
      return 4;
    case VECTIS_FLOAT16:
    case VECTIS_BFLOAT16:
      return 2;
    case VECTIS_INT8:
      return 1;
    default:
      return 0;
  }
}

// Returns whether `type` is float32, float16, bfloat16 or int8: the element types of vectors and matrices, which
// read_floats converts exactly. Returns false for int32 and for unknown types. Does not throw.
constexpr bool is_vector_type(VectisType type) { return type >= VECTIS_FLOAT32 && type <= VECTIS_INT8; }

// Returns the address of element (row, 0) of a view. Does not throw. Unchecked preconditions: row < view.rows, and
// the view lies inside its memory.
inline std::byte* row_of(const VectisView& view, std::uint64_t row) {
  return view.memory->bytes + (view.offset + row * view.stride) * size_of(view.type);
}

// Returns the address of element (row, 0) of a view as a pointer to T. Does not throw. Unchecked preconditions: T is
// the C++ type of view.type, row < view.rows, and the view lies inside its memory.
template <class T>
T* row_as(const VectisView& view, std::uint64_t row) {
  return reinterpret_cast<T*>(view.memory->bytes) + view.offset + row * view.stride;
}

// Returns whether the rows of a view follow each other without a gap (the stride equals the columns, or there is one
// row), so that an operation can treat them as one long row. Does not throw.
inline bool is_contiguous(const VectisView& view) { return view.stride == view.columns || view.rows == 1; }

}  // namespace vectis::cpu
