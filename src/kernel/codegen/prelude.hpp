// The prelude: the text before every printed kernel, which defines the built-ins of its body.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// The part that differs between dialects: FUNCTION, ids and sizes, barrier, conversions, bit casts, math functions,
// atomics. Begins with what must be the first line of a text in the dialect, such as GLSL's #version.
std::string_view opencl_prelude() noexcept;
std::string_view cuda_prelude() noexcept;  // and HIP's
std::string_view glsl_prelude() noexcept;

// The part that is the same in all dialects: packing, integer minimum and maximum, saturating conversions.
std::string_view common_prelude() noexcept;

// Both parts. Throws InvalidInput for wgsl, which has no macros.
std::string prelude(Dialect dialect);

// The define of GROUP_SIZE(d), a constant. It follows the prelude, which uses it.
std::string group_size_define(const std::array<std::uint32_t, 3>& group);

// "#line 1" with a file name, so that compilers count the lines of the user's text from its first line.
std::string line_marker(std::string_view part);

}  // namespace vectis::inline v0_1::detail
