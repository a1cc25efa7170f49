#include "plan/history.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace vectis::inline v0_1::detail {

namespace {

// Priors, all of logarithms of time (0.1 is about 10 %) unless said otherwise. Tuned on simulated devices
// (src/plan/regret_test.cpp).
constexpr double noise = 0.06;                // standard deviation of one measurement
constexpr double single_noise = 1;            // of the only measurement: first runs warm up and are often slow
constexpr double common_deviation = 0.4;      // of the common factor
constexpr double component_deviation = 0.8;   // of each component's factor
constexpr double residual_deviation = 0.2;    // of the Gaussian process
constexpr double residual_length = 4;         // its length scale, in powers of two
constexpr double outlier = 0.5;               // a record this far from the others counts half (Cauchy weights)
constexpr double same_size = 0.2;             // features closer than this, in powers of two, are one size
constexpr double well_known = 0.05;           // a prediction this good learns nothing from one more record
constexpr double surprising = 0.25;           // an error this large refits at once
constexpr std::size_t records_per_refit = 8;  // otherwise refit when one record in 8 is new
constexpr int fit_steps = 5;
constexpr double max_step = 1;
constexpr double min_pivot = 1e-12;  // rounding may make a pivot slightly negative

// Cholesky factorization of the lower half of a positive definite matrix of `n` rows, in place.
void cholesky(std::span<double> matrix, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] = i == j ? std::sqrt(std::max(sum, min_pivot)) : sum / matrix[j * n + j];
    }
  }
}

// Forward substitution: values := inverse(L) * values. The squared norm is then values * inverse(L * L^T) * values.
void solve_lower(std::span<const double> factor, std::span<double> values) noexcept {
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) values[i] -= factor[i * n + k] * values[k];
    values[i] /= factor[i * n + i];
  }
}

// values := inverse(L * L^T) * values
void solve(std::span<const double> factor, std::span<double> values) noexcept {
  solve_lower(factor, values);
  const std::size_t n = values.size();
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) values[i] -= factor[k * n + i] * values[k];
    values[i] /= factor[i * n + i];
  }
}

double squared_exponential(const Features& left, const Features& right) noexcept {
  const double ratio = distance(left, right) / residual_length;
  return residual_deviation * residual_deviation * std::exp(-0.5 * ratio * ratio);
}

double dot(std::span<const double> left, std::span<const double> right) noexcept {
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

// The smaller of two middle values: disturbances only make a measurement longer.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

CostBreakdown History::scaled(const CostBreakdown& cost, const Factors& factors) noexcept {
  CostBreakdown result;
  for (std::size_t i = 0; i < CostBreakdown::count; ++i) {
    result.seconds[i] = cost.seconds[i] * std::exp(factors[0] + factors[i + 1]);
  }
  return result;
}

// Derivative of log(total) by each log factor: the component's share of the total.
History::Factors History::gradient(const CostBreakdown& scaled) noexcept {
  const double total = scaled.total();
  Factors result{1};
  for (std::size_t i = 0; i < CostBreakdown::count; ++i) result[i + 1] = scaled.seconds[i] / total;
  const bool memory_bound = scaled.seconds[CostBreakdown::memory] > scaled.seconds[CostBreakdown::arithmetic];
  result[1 + (memory_bound ? CostBreakdown::arithmetic : CostBreakdown::memory)] = 0;
  return result;
}

double History::noise_variance(const Record& record) const noexcept {
  const double deviation = records_.size() == 1 ? single_noise : noise;
  return deviation * deviation / record.weight;
}

double History::residual(const Record& record) const noexcept {
  return record.log_seconds - std::log(scaled(record.cost, factors_).total());
}

void History::add(const CostBreakdown& cost, const Features& features, double seconds) {
  ++added_;
  const double log_seconds = std::log(seconds);
  const double surprise = std::abs(log_seconds - std::log(cost.total() * correct(cost, features).factor));
  const auto is_same_size = [&](const Record& record) { return distance(record.features, features) < same_size; };
  const auto of_this_size = static_cast<std::size_t>(std::ranges::count_if(records_, is_same_size));
  if (of_this_size >= max_records_per_size) {
    if (surprise < well_known) return;
    records_.erase(std::ranges::find_if(records_, is_same_size));
  } else if (records_.size() >= max_records) {
    records_.erase(records_.begin());
  }
  records_.push_back({cost, features, log_seconds, 1});
  ++pending_;
  needs_fit_ = needs_fit_ || surprise > surprising || pending_ * records_per_refit >= records_.size();
}

History::Correction History::correct(const CostBreakdown& cost, const Features& features) {
  if (needs_fit_) fit();
  const CostBreakdown corrected = scaled(cost, factors_);
  std::vector<double> similarity(fitted_features_.size());
  for (std::size_t i = 0; i < similarity.size(); ++i) {
    similarity[i] = squared_exponential(features, fitted_features_[i]);
  }
  const double process_mean = dot(similarity, weights_);
  Factors unexplained = gradient(corrected);  // the factors' uncertainty that records nearby do not remove
  for (std::size_t i = 0; i < factor_count; ++i) unexplained[i] -= dot(similarity, gain_[i]);
  solve_lower(precision_, unexplained);
  solve_lower(covariance_, similarity);
  const double process_variance = std::max(0.0, residual_deviation * residual_deviation - dot(similarity, similarity));
  return {corrected.total() / cost.total() * std::exp(process_mean),
          std::sqrt(dot(unexplained, unexplained) + process_variance)};
}

std::optional<double> History::measured(const Features& features) const {
  std::vector<double> times;
  for (const Record& record : records_) {
    if (distance(record.features, features) < same_size) times.push_back(record.log_seconds);
  }
  if (times.empty()) return std::nullopt;
  return std::exp(lower_median(std::move(times)));
}

// Iteratively reweighted least squares, started at the median residual so that outliers do not attract the solution.
void History::fit() {
  factors_ = {};
  weights_.clear();
  fitted_features_.clear();
  for (const Record& record : records_) {
    weights_.push_back(residual(record));
    fitted_features_.push_back(record.features);
  }
  if (!records_.empty()) factors_[0] = lower_median(weights_);
  for (int i = 0; i < (records_.empty() ? 1 : fit_steps); ++i) gauss_newton_step();
  for (std::size_t i = 0; i < records_.size(); ++i) weights_[i] = residual(records_[i]);
  solve(covariance_, weights_);
  pending_ = 0;
  needs_fit_ = false;
}

// One Gauss-Newton step, weighted by the covariance of the residuals.
void History::gauss_newton_step() {
  const std::size_t n = records_.size();
  covariance_.assign(n * n, 0);
  gain_.assign(factor_count, std::vector<double>(n));
  std::vector<std::vector<double>> jacobian(factor_count, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    weights_[i] = residual(records_[i]);
    records_[i].weight = 1 / (1 + weights_[i] * weights_[i] / (outlier * outlier));
    for (std::size_t j = 0; j <= i; ++j) {
      covariance_[i * n + j] = squared_exponential(fitted_features_[i], fitted_features_[j]);
    }
    covariance_[i * n + i] += noise_variance(records_[i]);
    const Factors row = gradient(scaled(records_[i].cost, factors_));
    for (std::size_t factor = 0; factor < factor_count; ++factor) jacobian[factor][i] = row[factor];
  }
  cholesky(covariance_, n);
  precision_.assign(factor_count * factor_count, 0);
  Factors step{};
  for (std::size_t i = 0; i < factor_count; ++i) {
    gain_[i] = jacobian[i];
    solve(covariance_, gain_[i]);
    const double deviation = i == 0 ? common_deviation : component_deviation;
    step[i] = dot(gain_[i], weights_) - factors_[i] / (deviation * deviation);
    for (std::size_t j = 0; j <= i; ++j) precision_[i * factor_count + j] = dot(gain_[i], jacobian[j]);
    precision_[i * factor_count + i] += 1 / (deviation * deviation);
  }
  cholesky(precision_, factor_count);
  solve(precision_, step);
  for (std::size_t i = 0; i < factor_count; ++i) factors_[i] += std::clamp(step[i], -max_step, max_step);
}

}  // namespace vectis::inline v0_1::detail
