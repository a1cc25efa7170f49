// A named operation on the CPU. Every source in operations/ is a part that offers one or a family of them:
//
//   std::span<const NamedOperation> <file name>_operations();
//
// and is found by its file name, so that adding an operation is adding a file. docs/operations.md says what each means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/cpu/handles.hpp"
#include "backends/cpu/onednn.hpp"
#include "backends/cpu/threads.hpp"
#include "vectis/device/backend.h"

namespace vectis::cpu {

// One call. Shapes, types and numbers fit the operation: the host checked them.
struct Call {
  std::span<const VectisView> views;
  std::span<const VectisNumber> numbers;
  const Threads& threads;
  OneDnn& onednn;

  [[nodiscard]] std::int64_t integer(std::size_t index, std::int64_t standard) const {
    return index < numbers.size() ? numbers[index].integer : standard;
  }
  [[nodiscard]] double real(std::size_t index, double standard) const {
    return index < numbers.size() ? numbers[index].real : standard;
  }
};

// VECTIS_UNSUPPORTED for types it does not serve. May throw std::bad_alloc, outside of parallel bodies.
using Run = VectisStatus (*)(const Call& call);

struct NamedOperation {
  std::string_view name;
  Run run;
};

// The operation, or NULL. Thread-safe.
Run find_operation(std::string_view name);

// Bytes of one element; 0 for a type no operation here knows.
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

// One of float32, float16, bfloat16, int8: what a value read by read_floats may be.
constexpr bool is_number(VectisType type) { return type >= VECTIS_FLOAT32 && type <= VECTIS_INT8; }

// Where a view's element (row, 0) lies.
inline std::byte* row_of(const VectisView& view, std::uint64_t row) {
  return view.memory->bytes + (view.offset + row * view.stride) * size_of(view.type);
}

// The same for elements that are a C++ type.
template <class T>
T* row_as(const VectisView& view, std::uint64_t row) {
  return reinterpret_cast<T*>(view.memory->bytes) + view.offset + row * view.stride;
}

// Rows that follow each other without a gap are one long row: whether all of these are so.
inline bool is_tight(const VectisView& view) { return view.stride == view.columns || view.rows == 1; }

}  // namespace vectis::cpu
