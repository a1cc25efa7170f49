#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1 {

View::View(DeviceMemory where, DType kind, std::uint64_t row_count, std::uint64_t column_count)
    : View(std::move(where), kind, row_count, column_count, 0, column_count) {}

View::View(DeviceMemory where, DType kind, std::uint64_t row_count, std::uint64_t column_count, std::uint64_t first,
           std::uint64_t row_stride)
    : memory(std::move(where)), type(kind), rows(row_count), columns(column_count), offset(first), stride(row_stride) {}

std::uint64_t View::end() const noexcept {
  return rows == 0 || columns == 0 ? offset : offset + (rows - 1) * stride + columns;
}

}  // namespace vectis::inline v0_1
