#include "search/exact/row_distances.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vectis::inline v0_1::exact {

namespace {

using Rows = std::array<const float*, rows_together>;
using Sums = std::array<double, rows_together>;

Sums squared_differences(const float* query, const Rows& rows, std::size_t dim) noexcept {
  Sums sums{};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t row = 0; row < rows_together; ++row) {
      const double difference = double{query[i]} - double{rows[row][i]};
      sums[row] += difference * difference;
    }
  }
  return sums;
}

Sums products(const float* query, const Rows& rows, std::size_t dim) noexcept {
  Sums sums{};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t row = 0; row < rows_together; ++row) sums[row] += double{query[i]} * double{rows[row][i]};
  }
  return sums;
}

}  // namespace

void row_distances(Distance distance, std::span<const float> query, std::span<const float* const> rows,
                   double* distances) {
  if (distance != Distance::euclidean && distance != Distance::inner_product) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      distances[i] = exact_distance(distance, query, {rows[i], query.size()});
    return;
  }
  Rows all;
  for (std::size_t i = 0; i < rows_together; ++i) all[i] = rows[std::min(i, rows.size() - 1)];
  const bool euclidean = distance == Distance::euclidean;
  const Sums sums =
      euclidean ? squared_differences(query.data(), all, query.size()) : products(query.data(), all, query.size());
  for (std::size_t i = 0; i < rows.size(); ++i) distances[i] = euclidean ? std::sqrt(sums[i]) : -sums[i];
}

}  // namespace vectis::inline v0_1::exact
