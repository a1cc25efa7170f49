#include "search/exact/row_distances.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vectis::inline v0_1::exact {

namespace {

// So many rows side by side; the numbers of each are added one after the other.
template <std::size_t Rows>
void squared_differences(const float* query, const float* const* rows, std::size_t dim, double* sums) noexcept {
  std::array<double, Rows> parts{};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t row = 0; row < Rows; ++row) {
      const double difference = double{query[i]} - double{rows[row][i]};
      parts[row] += difference * difference;
    }
  }
  std::ranges::copy(parts, sums);
}

template <std::size_t Rows>
void products(const float* query, const float* const* rows, std::size_t dim, double* sums) noexcept {
  std::array<double, Rows> parts{};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t row = 0; row < Rows; ++row) parts[row] += double{query[i]} * double{rows[row][i]};
  }
  std::ranges::copy(parts, sums);
}

template <std::size_t Rows>
void sum_up(Metric distance, std::span<const float> query, const float* const* rows, double* sums) noexcept {
  if (distance == Metric::l2) {
    squared_differences<Rows>(query.data(), rows, query.size(), sums);
  } else {
    products<Rows>(query.data(), rows, query.size(), sums);
  }
}

}  // namespace

void row_distances(Metric distance, std::span<const float> query, std::span<const float* const> rows,
                   double* distances) {
  if (distance != Metric::l2 && distance != Metric::inner_product) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      distances[i] = exact_distance(distance, query, {rows[i], query.size()});
    return;
  }
  std::array<const float*, rows_together> all;
  for (std::size_t i = 0; i < rows_together; ++i) all[i] = rows[std::min(i, rows.size() - 1)];
  std::array<double, rows_together> sums;
  if (rows.size() <= 2) {
    sum_up<2>(distance, query, all.data(), sums.data());
  } else {
    sum_up<rows_together>(distance, query, all.data(), sums.data());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    distances[i] = distance == Metric::l2 ? std::sqrt(sums[i]) : -sums[i];
  }
}

}  // namespace vectis::inline v0_1::exact
