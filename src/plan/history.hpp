// Measured run times of one workload on one device, and the correction of the cost model that follows from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/cost_model.hpp"

namespace vectis::inline v0_1::detail {

// Learns log(measured / predicted) in two steps.
// 1. Factors: one common to all components and one per component (launch, compile, copy, arithmetic, memory, host), by
//    robust regularized least squares around the profile. A wrong rate scales its component alone, so that few records
//    correct sizes never measured. Outliers get little weight; nearby records are correlated and count as one.
// 2. Residual (caches, saturation): a Gaussian process over the feature vector with zero mean, so that far from every
//    record only the factors apply.
// Memory is bounded by max_records, and time by refitting only after a surprise or several new records.
// One thread at a time.
class History {
 public:
  // Factor by which a prediction of the cost model is multiplied, and how uncertain the factor is.
  struct Correction {
    double factor = 1;
    double deviation = 0;  // standard deviation of log(factor)
  };

  // Adds a measured run time of a workload with this predicted cost and these features. `seconds` must be finite and
  // above 0, which is not checked. Forgets an older time when max_records are stored.
  void add(const CostBreakdown& cost, const Features& features, double seconds);
  // Returns the correction for a workload with this predicted cost and these features; a factor of 1 before the first
  // add(). Fits the factors first when new records require it, so it is not const. cost.total() must be above 0, which
  // is not checked.
  [[nodiscard]] Correction correct(const CostBreakdown& cost, const Features& features);
  // Returns the median of the stored run times at (almost) these features, in seconds; nothing when none is stored.
  [[nodiscard]] std::optional<double> measured(const Features& features) const;
  // Returns the number of calls of add(), including those whose times are no longer stored.
  [[nodiscard]] std::uint64_t records() const noexcept { return added_; }

  static constexpr std::size_t max_records = 48;
  static constexpr std::size_t max_records_per_size = 4;

 private:
  static constexpr std::size_t factor_count = 1 + CostBreakdown::count;
  using Factors = std::array<double, factor_count>;  // logarithms: common, then by component

  struct Record {
    CostBreakdown cost;
    Features features;
    double log_seconds = 0;
    double weight = 1;  // 0 to 1: agreement with the other records
  };

  static CostBreakdown scaled(const CostBreakdown& cost, const Factors& factors) noexcept;
  static Factors gradient(const CostBreakdown& scaled) noexcept;
  [[nodiscard]] double noise_variance(const Record& record) const noexcept;
  [[nodiscard]] double residual(const Record& record) const noexcept;
  void fit();
  void gauss_newton_step();

  std::vector<Record> records_;  // oldest first
  std::uint64_t added_ = 0;
  std::size_t pending_ = 0;  // records since the last fit
  bool needs_fit_ = true;    // never fitted, or surprised since
  Factors factors_{};
  std::vector<double> precision_;          // Cholesky factor of the factors' precision matrix
  std::vector<double> covariance_;         // Cholesky factor of the residuals' covariance matrix
  std::vector<std::vector<double>> gain_;  // by factor: inverse covariance times the records' gradients
  std::vector<double> weights_;            // inverse covariance times the residuals
  std::vector<Features> fitted_features_;  // of the records at the last fit
};

}  // namespace vectis::inline v0_1::detail
