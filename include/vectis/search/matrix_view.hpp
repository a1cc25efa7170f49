// A view of vectors that the caller owns.
#pragma once

#include <cstddef>
#include <span>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Rows of floats in memory that the caller owns and keeps alive during the call. Row i begins at `data + i * stride`.
// Immutable views of equal memory may be used by any number of threads.
//
//   index->add(MatrixView(vectors, 384));                // contiguous rows
//   index->add(MatrixView{data, rows, 384, 400});        // rows padded to 400 floats
struct VECTIS_API MatrixView {
  const float* data = nullptr;  // may be null when rows is 0
  std::size_t rows = 0;
  std::size_t dim = 0;     // floats in a row
  std::size_t stride = 0;  // floats from the begin of a row to the begin of the next, at least dim

  MatrixView() = default;
  // Contiguous rows.
  MatrixView(const float* values, std::size_t row_count, std::size_t row_dim)
      : data(values), rows(row_count), dim(row_dim), stride(row_dim) {}
  // Not checked here: a call that takes the view throws InvalidInput when stride < dim.
  MatrixView(const float* values, std::size_t row_count, std::size_t row_dim, std::size_t row_stride)
      : data(values), rows(row_count), dim(row_dim), stride(row_stride) {}
  // Contiguous rows, as many as fit. Throws InvalidInput when dim is 0 or values.size() is not a multiple of dim.
  MatrixView(std::span<const float> values, std::size_t dim);

  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept { return {data + i * stride, dim}; }
};

}  // namespace vectis::inline v0_1
