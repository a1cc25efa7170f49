#include "plan/history.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/cholesky.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// All of logarithms, so 0.1 is a tenth.
constexpr double noise = 0.06;              // of one measurement
constexpr double first_noise = 1;           // of the only one: first runs warm up, and are often slow
constexpr double common_deviation = 0.4;    // of the factor of everything
constexpr double part_deviation = 0.8;      // of each part's own
constexpr double rest_deviation = 0.2;      // of what the factors leave
constexpr double rest_octaves = 4;          // over which that changes
constexpr double outlier = 0.5;             // a record this far from the others counts half
constexpr double same_place = 0.2;          // octaves
constexpr double known_well = 0.05;         // a prediction this good learns nothing from one more record
constexpr double surprising = 0.25;         // a record this far off is learned from at once
constexpr std::size_t records_per_fit = 8;  // one in so many is enough to learn anew
constexpr int fit_steps = 5;
constexpr double step_max = 1;

double kernel(const Place& left, const Place& right) noexcept {
  const double ratio = distance(left, right) / rest_octaves;
  return rest_deviation * rest_deviation * std::exp(-0.5 * ratio * ratio);
}

double dot(std::span<const double> left, std::span<const double> right) noexcept {
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

// Of two in the middle the smaller: what disturbs a measurement makes it longer.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Parts History::scaled(const Parts& parts, const Factors& factors) noexcept {
  Parts result;
  for (std::size_t i = 0; i < Parts::count; ++i) {
    result.seconds[i] = parts.seconds[i] * std::exp(factors[0] + factors[i + 1]);
  }
  return result;
}

// How much the logarithm of the total follows each factor's.
History::Factors History::shares(const Parts& parts) noexcept {
  const double total = parts.total();
  Factors result{1};
  for (std::size_t i = 0; i < Parts::count; ++i) result[i + 1] = parts.seconds[i] / total;
  const bool memory_bound = parts.seconds[Parts::memory] > parts.seconds[Parts::arithmetic];
  result[1 + (memory_bound ? Parts::arithmetic : Parts::memory)] = 0;
  return result;
}

double History::noise_of(const Record& record) const noexcept {
  const double plain = kept_.size() == 1 ? first_noise : noise;
  return plain * plain / record.trust;
}

double History::residual(const Record& record) const noexcept {
  return record.log_seconds - std::log(scaled(record.parts, factors_).total());
}

void History::add(const Parts& parts, const Place& place, double seconds) {
  ++records_;
  const double log_seconds = std::log(seconds);
  const double surprise = std::abs(log_seconds - std::log(parts.total() * correct(parts, place).factor));
  const auto is_here = [&](const Record& record) { return distance(record.place, place) < same_place; };
  const auto here = static_cast<std::size_t>(std::ranges::count_if(kept_, is_here));
  if (here >= kept_at_place_max) {
    if (surprise < known_well) return;
    kept_.erase(std::ranges::find_if(kept_, is_here));
  } else if (kept_.size() >= kept_max) {
    kept_.erase(kept_.begin());
  }
  kept_.push_back({parts, place, log_seconds, 1});
  ++pending_;
  fit_now_ = fit_now_ || surprise > surprising || pending_ * records_per_fit >= kept_.size();
}

History::Correction History::correct(const Parts& parts, const Place& place) {
  if (fit_now_) fit();
  const Parts now = scaled(parts, factors_);
  std::vector<double> near(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) near[i] = kernel(place, places_[i]);
  const double rest = dot(near, weights_);
  Factors unknown = shares(now);  // what of the factors' doubt the records nearby do not settle
  for (std::size_t i = 0; i < factor_count; ++i) unknown[i] -= dot(near, tied_[i]);
  solve_lower(precision_, unknown);
  solve_lower(covariance_, near);
  const double variance = dot(unknown, unknown) + std::max(0.0, rest_deviation * rest_deviation - dot(near, near));
  return {now.total() / parts.total() * std::exp(rest), std::sqrt(variance)};
}

std::optional<double> History::measured(const Place& place) const {
  std::vector<double> here;
  for (const Record& record : kept_) {
    if (distance(record.place, place) < same_place) here.push_back(record.log_seconds);
  }
  if (here.empty()) return std::nullopt;
  return std::exp(lower_median(std::move(here)));
}

// Begins where half of the records are, and trusts the more the nearer they lie.
void History::fit() {
  factors_ = {};
  weights_.clear();
  for (const Record& record : kept_) weights_.push_back(residual(record));
  if (!kept_.empty()) factors_[0] = lower_median(weights_);
  places_.clear();
  for (const Record& record : kept_) places_.push_back(record.place);
  for (int i = 0; i < (kept_.empty() ? 1 : fit_steps); ++i) step();
  for (std::size_t i = 0; i < kept_.size(); ++i) weights_[i] = residual(kept_[i]);
  solve(covariance_, weights_);
  pending_ = 0;
  fit_now_ = false;
}

// One step of Gauss and Newton, weighted by the covariance of what the factors leave.
void History::step() {
  const std::size_t n = kept_.size();
  covariance_.assign(n * n, 0);
  tied_.assign(factor_count, std::vector<double>(n));
  std::vector<std::vector<double>> share(factor_count, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    weights_[i] = residual(kept_[i]);
    kept_[i].trust = 1 / (1 + weights_[i] * weights_[i] / (outlier * outlier));
    for (std::size_t j = 0; j <= i; ++j) covariance_[i * n + j] = kernel(places_[i], places_[j]);
    covariance_[i * n + i] += noise_of(kept_[i]);
    const Factors shares_now = shares(scaled(kept_[i].parts, factors_));
    for (std::size_t factor = 0; factor < factor_count; ++factor) share[factor][i] = shares_now[factor];
  }
  cholesky(covariance_);
  precision_.assign(factor_count * factor_count, 0);
  Factors gradient{};
  for (std::size_t i = 0; i < factor_count; ++i) {
    tied_[i] = share[i];
    solve(covariance_, tied_[i]);
    const double deviation = i == 0 ? common_deviation : part_deviation;
    gradient[i] = dot(tied_[i], weights_) - factors_[i] / (deviation * deviation);
    for (std::size_t j = 0; j <= i; ++j) precision_[i * factor_count + j] = dot(tied_[i], share[j]);
    precision_[i * factor_count + i] += 1 / (deviation * deviation);
  }
  cholesky(precision_);
  solve(precision_, gradient);
  for (std::size_t i = 0; i < factor_count; ++i) factors_[i] += std::clamp(gradient[i], -step_max, step_max);
}

}  // namespace vectis::inline v0_1::detail
