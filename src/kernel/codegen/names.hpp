// Limits of the names of kernels.
#pragma once

#include <cstddef>
#include <string_view>

namespace vectis::inline v0_1::detail {

// Characters of a kernel's name. Drivers make file names of it: PoCL ends the process from about 240 characters on.
inline constexpr std::size_t kernel_name_size_max = 128;
// Stands before the name of a portable kernel in its entry point.
inline constexpr std::string_view entry_point_prefix = "vt_";

}  // namespace vectis::inline v0_1::detail
