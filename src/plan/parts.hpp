// The predicted time of a piece of work, by what takes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "vectis/plan/profile.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::detail {

// Seconds. Of arithmetic and memory only the longer counts: they overlap.
struct Parts {
  enum Name : std::size_t { launch, compile, copy, arithmetic, memory, host };
  static constexpr std::size_t count = 6;
  std::array<double, count> seconds{};

  [[nodiscard]] double compute() const noexcept { return std::max(seconds[arithmetic], seconds[memory]); }
  [[nodiscard]] double total() const noexcept {
    return seconds[launch] + seconds[compile] + seconds[copy] + compute() + seconds[host];
  }
};

Parts parts_of(const DeviceProfile& profile, const Workload& work) noexcept;

// Where a piece of work stands among others of its name: powers of two of its operations, bytes and copies.
using Place = std::array<double, 4>;
Place place_of(const Workload& work) noexcept;
// In octaves.
double distance(const Place& left, const Place& right) noexcept;

// InvalidInput unless every number of the work can be one.
void check_work(const Workload& work);

}  // namespace vectis::inline v0_1::detail
