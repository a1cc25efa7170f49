// This file is compiled once for each instruction set, by Highway's foreach_target; the last section once in all.

#include "backends/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/transposed.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <cstdint>
#include <utility>

#include "backends/cpu/transposed.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
template <class T>
constexpr std::size_t kSide = 1;

template <class T>
HWY_INLINE void Square(const T* from, std::size_t /*from_stride*/, T* to, std::size_t /*to_stride*/) {
  *to = *from;
}
#else
// A square of as many elements a side as 16 bytes hold.
template <class T>
constexpr std::size_t kSide = 16 / sizeof(T);

// Interleaving each row with the one half a square below moves one bit of the row's number to the column's; as often as
// there are bits, it is the transpose.
template <class T, class Vector, std::size_t... i>
HWY_INLINE void Interleave(std::index_sequence<i...> /*halves*/, Vector* rows) {
  const hn::FixedTag<T, kSide<T> > d;
  constexpr std::size_t half = kSide<T> / 2;
  const Vector mixed[] = {(i % 2 == 0 ? hn::InterleaveLower(d, rows[i / 2], rows[i / 2 + half])
                                      : hn::InterleaveUpper(d, rows[i / 2], rows[i / 2 + half]))...};
  ((rows[i] = mixed[i]), ...);
}

template <class T, std::size_t... row>
HWY_INLINE void SquareRows(std::index_sequence<row...> rows, const T* from, std::size_t from_stride, T* to,
                           std::size_t to_stride) {
  const hn::FixedTag<T, kSide<T> > d;
  hn::Vec<decltype(d)> vectors[] = {hn::LoadU(d, from + row * from_stride)...};
  for (std::size_t side = kSide<T>; side > 1; side /= 2) Interleave<T>(rows, vectors);
  (hn::StoreU(vectors[row], d, to + row * to_stride), ...);
}

template <class T>
HWY_INLINE void Square(const T* from, std::size_t from_stride, T* to, std::size_t to_stride) {
  SquareRows<T>(std::make_index_sequence<kSide<T> >(), from, from_stride, to, to_stride);
}
#endif

template <class T>
void TransposeAs(const T* from, std::size_t rows, std::size_t columns, std::size_t from_stride, T* to,
                 std::size_t to_stride) {
  constexpr std::size_t side = kSide<T>;
  const std::size_t whole_rows = rows / side * side;
  const std::size_t whole_columns = columns / side * side;
  for (std::size_t c = 0; c < whole_columns; c += side) {
    for (std::size_t r = 0; r < whole_rows; r += side) {
      Square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}

void Transpose(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
               std::size_t from_stride, void* to, std::size_t to_stride) {
  const auto as = [&]<class T>(T* target) {
    TransposeAs(static_cast<const T*>(from), rows, columns, from_stride, target, to_stride);
  };
  if (element_bytes == 1) return as(static_cast<std::uint8_t*>(to));
  if (element_bytes == 2) return as(static_cast<std::uint16_t*>(to));
  as(static_cast<std::uint32_t*>(to));
}

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

HWY_EXPORT(Transpose);

void transpose_elements(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
                        std::size_t from_stride, void* to, std::size_t to_stride) {
  HWY_DYNAMIC_DISPATCH(Transpose)(element_bytes, from, rows, columns, from_stride, to, to_stride);
}

}  // namespace vectis::cpu
#endif
