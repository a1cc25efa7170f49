// The table of a profile.
#pragma once

#include <iosfwd>
#include <span>

#include "kernel/profiler/ledger.hpp"
#include "vectis/kernel/profiler.hpp"

namespace vectis::inline v0_1::detail {

void print_summary(std::ostream& out, std::span<const ProfileRow> rows, const ProfileFrame& frame);

}  // namespace vectis::inline v0_1::detail
