// What work of one name took on one device, and what follows from it for other sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/parts.hpp"

namespace vectis::inline v0_1::detail {

// The logarithm of measured over predicted is learned in two steps.
// 1. A factor for everything and one for each part (launch, compile, copy, arithmetic, memory, host), so that few
// records
//    correct sizes never seen: a wrong rate scales that part alone. Least squares around the profile, records far from
//    the rest hardly counting, and neighbours counting as one witness rather than many.
// 2. What is left (caches, saturation) as a smooth function of the place: a Gaussian process whose prior is zero, so
//    that far from every record only step 1 speaks.
// Memory is bounded: the newest few records of each place, and so many in all. So is time: with many records, only a
// surprise or several new ones make it learn anew. One thread at a time.
class History {
 public:
  struct Correction {
    double factor = 1;
    double deviation = 0;  // of the logarithm of the factor
  };

  void add(const Parts& parts, const Place& place, double seconds);
  [[nodiscard]] Correction correct(const Parts& parts, const Place& place);
  // The median of what this very place took.
  [[nodiscard]] std::optional<double> measured(const Place& place) const;
  // How often `add` was called.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

  static constexpr std::size_t kept_max = 48;
  static constexpr std::size_t kept_at_place_max = 4;

 private:
  // One factor for all parts together and one for each.
  static constexpr std::size_t factor_count = 1 + Parts::count;
  using Factors = std::array<double, factor_count>;  // logarithms

  struct Record {
    Parts parts;
    Place place;
    double log_seconds = 0;
    double trust = 1;  // 0 to 1: how well it agrees with the others
  };

  static Parts scaled(const Parts& parts, const Factors& factors) noexcept;
  static Factors shares(const Parts& scaled) noexcept;
  [[nodiscard]] double noise_of(const Record& record) const noexcept;
  [[nodiscard]] double residual(const Record& record) const noexcept;
  void fit();
  void step();

  std::vector<Record> kept_;  // oldest first
  std::uint64_t records_ = 0;
  std::size_t pending_ = 0;  // records since the last fit
  bool fit_now_ = true;      // the last of them was a surprise, or there was no fit
  Factors factors_{};
  std::vector<double> precision_;          // Cholesky factor of the factors' precision matrix
  std::vector<double> covariance_;         // Cholesky factor of the covariance of what the factors leave
  std::vector<std::vector<double>> tied_;  // by factor: the covariance's inverse times the records' shares
  std::vector<double> weights_;            // the covariance's inverse times the residuals
  std::vector<Place> places_;              // of the records fitted
};

}  // namespace vectis::inline v0_1::detail
