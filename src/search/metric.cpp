#include "vectis/search/metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace vectis::inline v0_1 {

namespace {

constexpr std::array metrics{Metric::l2,        Metric::cosine,  Metric::inner_product, Metric::l1,
                             Metric::chebyshev, Metric::hamming, Metric::l2_squared};

// Sums a term of each coordinate in index order.
template <class Term>
double sum_of(std::span<const float> query, std::span<const float> vector, Term term) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < query.size(); ++i) sum += term(double{query[i]}, double{vector[i]});
  return sum;
}

double dot(std::span<const float> a, std::span<const float> b) noexcept {
  return sum_of(a, b, [](double x, double y) { return x * y; });
}

double squared_l2(std::span<const float> query, std::span<const float> vector) noexcept {
  return sum_of(query, vector, [](double x, double y) { return (x - y) * (x - y); });
}

double cosine_distance(std::span<const float> query, std::span<const float> vector) noexcept {
  const double norms = std::sqrt(dot(query, query)) * std::sqrt(dot(vector, vector));
  return norms == 0 ? 1.0 : 1.0 - dot(query, vector) / norms;
}

double chebyshev_distance(std::span<const float> query, std::span<const float> vector) noexcept {
  double largest = 0;
  for (std::size_t i = 0; i < query.size(); ++i) {
    largest = std::max(largest, std::abs(double{query[i]} - double{vector[i]}));
  }
  return largest;
}

}  // namespace

std::span<const Metric> all_metrics() noexcept { return metrics; }

std::string_view name(Metric metric) noexcept {
  switch (metric) {
    case Metric::l2:
      return "l2";
    case Metric::cosine:
      return "cosine";
    case Metric::inner_product:
      return "inner_product";
    case Metric::l1:
      return "l1";
    case Metric::chebyshev:
      return "chebyshev";
    case Metric::hamming:
      return "hamming";
    case Metric::l2_squared:
      return "l2_squared";
  }
  return "unknown";
}

std::optional<Metric> parse_metric(std::string_view text) {
  for (const Metric metric : metrics) {
    if (name(metric) == text) return metric;
  }
  return std::nullopt;
}

double exact_distance(Metric metric, std::span<const float> query, std::span<const float> vector) noexcept {
  switch (metric) {
    case Metric::l2:
      return std::sqrt(squared_l2(query, vector));
    case Metric::l2_squared:
      return squared_l2(query, vector);
    case Metric::cosine:
      return cosine_distance(query, vector);
    case Metric::inner_product:
      return -dot(query, vector);
    case Metric::l1:
      return sum_of(query, vector, [](double x, double y) { return std::abs(x - y); });
    case Metric::chebyshev:
      return chebyshev_distance(query, vector);
    case Metric::hamming:
      return sum_of(query, vector, [](double x, double y) { return x == y ? 0.0 : 1.0; });
  }
  return 0;
}

}  // namespace vectis::inline v0_1
