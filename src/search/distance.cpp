#include "vectis/search/distance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace vectis::inline v0_1 {

namespace {

constexpr std::array distances{Distance::euclidean, Distance::cosine,    Distance::inner_product,
                               Distance::manhattan, Distance::chebyshev, Distance::hamming};

// The terms of every coordinate, added up in order.
template <class Term>
double sum_of(std::span<const float> query, std::span<const float> vector, Term term) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < query.size(); ++i) sum += term(double{query[i]}, double{vector[i]});
  return sum;
}

double dot(std::span<const float> a, std::span<const float> b) noexcept {
  return sum_of(a, b, [](double x, double y) { return x * y; });
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

std::span<const Distance> all_distances() noexcept { return distances; }

std::string_view name(Distance distance) noexcept {
  switch (distance) {
    case Distance::euclidean:
      return "euclidean";
    case Distance::cosine:
      return "cosine";
    case Distance::inner_product:
      return "inner_product";
    case Distance::manhattan:
      return "manhattan";
    case Distance::chebyshev:
      return "chebyshev";
    case Distance::hamming:
      return "hamming";
  }
  return "unknown";
}

std::optional<Distance> parse_distance(std::string_view text) {
  for (const Distance distance : distances) {
    if (name(distance) == text) return distance;
  }
  return std::nullopt;
}

double exact_distance(Distance distance, std::span<const float> query, std::span<const float> vector) noexcept {
  switch (distance) {
    case Distance::euclidean:
      return std::sqrt(sum_of(query, vector, [](double x, double y) { return (x - y) * (x - y); }));
    case Distance::cosine:
      return cosine_distance(query, vector);
    case Distance::inner_product:
      return -dot(query, vector);
    case Distance::manhattan:
      return sum_of(query, vector, [](double x, double y) { return std::abs(x - y); });
    case Distance::chebyshev:
      return chebyshev_distance(query, vector);
    case Distance::hamming:
      return sum_of(query, vector, [](double x, double y) { return x == y ? 0.0 : 1.0; });
  }
  return 0;
}

}  // namespace vectis::inline v0_1
