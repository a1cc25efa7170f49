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

// One call. The host has checked shapes, types and parameters.
struct Call {
  std::span<const VectisView> views;
  std::span<const VectisNumber> numbers;
  const Threads& threads;
  OneDnn& onednn;

  [[nodiscard]] std::int64_t integer(std::size_t index, std::int64_t default_value) const {
    return index < numbers.size() ? numbers[index].integer : default_value;
  }
  [[nodiscard]] double real(std::size_t index, double default_value) const {
    return index < numbers.size() ? numbers[index].real : default_value;
  }
};

// Returns VECTIS_UNSUPPORTED for element types it does not support. May throw std::bad_alloc outside of parallel
// bodies.
using Run = VectisStatus (*)(const Call& call);

struct NamedOperation {
  std::string_view name;
  Run run;
};

// The operation of this name, or null. Thread-safe.
Run find_operation(std::string_view name);

// Bytes of one element; 0 for an unknown type.
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

// float32, float16, bfloat16 or int8: the types of vectors and matrices, which read_floats converts exactly.
constexpr bool is_vector_type(VectisType type) { return type >= VECTIS_FLOAT32 && type <= VECTIS_INT8; }

// The address of element (row, 0) of a view.
inline std::byte* row_of(const VectisView& view, std::uint64_t row) {
  return view.memory->bytes + (view.offset + row * view.stride) * size_of(view.type);
}

// The same as a pointer to the elements' C++ type.
template <class T>
T* row_as(const VectisView& view, std::uint64_t row) {
  return reinterpret_cast<T*>(view.memory->bytes) + view.offset + row * view.stride;
}

// Whether the rows follow each other without a gap, so that they can be treated as one long row.
inline bool is_contiguous(const VectisView& view) { return view.stride == view.columns || view.rows == 1; }

}  // namespace vectis::cpu
