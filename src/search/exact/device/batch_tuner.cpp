#include "search/exact/device/batch_tuner.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t samples_wanted = 3;  // the least of them counts: other load only adds time
constexpr std::size_t size_min = 32;       // smaller batches leave a device idle
constexpr double gain_min = 0.95;          // a smaller difference may be chance
constexpr double loss_max = 2;             // still smaller batches are not tried then

}  // namespace

void BatchTuner::try_size(std::size_t size) noexcept {
  trial_ = size;
  trial_seconds_ = std::numeric_limits<double>::infinity();
  samples_ = 0;
}

std::size_t BatchTuner::size(std::size_t limit, std::size_t rows, std::size_t k) {
  const Workload workload{limit, static_cast<int>(std::bit_width(rows)), static_cast<int>(std::bit_width(k))};
  const std::lock_guard lock(mutex_);
  if (workload != workload_) {
    workload_ = workload;
    best_ = 0;
    settled_ = false;
    try_size(limit);
  }
  return settled_ ? best_ : trial_;
}

void BatchTuner::record(std::size_t queries, double seconds) {
  const std::lock_guard lock(mutex_);
  if (settled_ || queries != trial_) return;
  trial_seconds_ = std::min(trial_seconds_, seconds / static_cast<double>(queries));
  if (++samples_ < samples_wanted) return;
  if (best_ == 0 || trial_seconds_ < gain_min * best_seconds_) {
    best_ = trial_;
    best_seconds_ = trial_seconds_;
  }
  settled_ = trial_ / 2 < size_min || trial_seconds_ > loss_max * best_seconds_;
  if (!settled_) try_size(trial_ / 2);
}

}  // namespace vectis::inline v0_1::exact
