#include "search/common/exact_distances.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vectis::inline v0_1::detail {

namespace {

// Rows side by side; the terms of each are added in index order.
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
void sum_up(Metric metric, std::span<const float> query, const float* const* rows, double* sums) noexcept {
  if (is_euclidean(metric)) {
    squared_differences<Rows>(query.data(), rows, query.size(), sums);
  } else {
    products<Rows>(query.data(), rows, query.size(), sums);
  }
}

}  // namespace

void exact_distances(Metric metric, std::span<const float> query, std::span<const float* const> rows,
                     double* distances) {
  if (!is_euclidean(metric) && metric != Metric::inner_product) {
    for (std::size_t i = 0; i < rows.size(); ++i) distances[i] = exact_distance(metric, query, {rows[i], query.size()});
    return;
  }
  std::array<const float*, exact_distances_batch> all;
  for (std::size_t i = 0; i < exact_distances_batch; ++i) all[i] = rows[std::min(i, rows.size() - 1)];
  std::array<double, exact_distances_batch> sums;
  if (rows.size() <= 2) {
    sum_up<2>(metric, query, all.data(), sums.data());
  } else {
    sum_up<exact_distances_batch>(metric, query, all.data(), sums.data());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    distances[i] = metric == Metric::inner_product ? -sums[i] : metric == Metric::l2 ? std::sqrt(sums[i]) : sums[i];
  }
}

}  // namespace vectis::inline v0_1::detail
