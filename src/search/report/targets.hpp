// What Vectis set out to reach, from the documents it began with.
#pragma once

#include <vector>

#include "vectis/search/report.hpp"

namespace vectis::inline v0_1::detail {

constexpr std::size_t target_rows = 1'000'000;
constexpr std::size_t batch_queries = 100;
constexpr std::size_t inserted_rows = 10'000;

// Every target with what the report measured of it, and why it does not apply where it does not.
[[nodiscard]] std::vector<JudgedTarget> judge_targets(const DeviceReport& report);

}  // namespace vectis::inline v0_1::detail
