// The prelude: the text before every printed kernel, which defines the built-ins of its body.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// Returns the prelude of OpenCL C: definitions of FUNCTION, ids and sizes, barrier, conversions, bit casts, math
// functions and atomics. Must be followed by common_prelude(). Does not throw.
std::string_view opencl_prelude() noexcept;
// Returns the prelude of CUDA C++ and HIP C++: definitions of FUNCTION, ids and sizes, barrier, conversions, bit
// casts, math functions and atomics. Must be followed by common_prelude(). Does not throw.
std::string_view cuda_prelude() noexcept;
// Returns the prelude of GLSL: definitions of FUNCTION, ids and sizes, barrier, conversions, bit casts, math
// functions and atomics. Begins with #version, which must be the first line of the text. Must be followed by
// common_prelude(). Does not throw.
std::string_view glsl_prelude() noexcept;

// Returns the part of the prelude that is equal in all dialects: packing, integer minimum and maximum, saturating
// conversions. Must follow the prelude of a dialect, which defines FUNCTION. Does not throw.
std::string_view common_prelude() noexcept;

// Returns the complete prelude of a dialect: its own part, then common_prelude(). group_size_define() must follow
// it. Throws InvalidInput for wgsl, which has no macros.
std::string prelude(Dialect dialect);

// Returns the #define of GROUP_SIZE(d), a constant, for a work-group of this size, which is not checked. It stands
// after the prelude, which uses it.
std::string group_size_define(const std::array<std::uint32_t, 3>& group);

// Returns `#line 1` with the file name `part`, so that compilers count the lines of the user's text from its first
// line. `part` must contain no quotation mark, which is not checked.
std::string line_marker(std::string_view part);

}  // namespace vectis::inline v0_1::detail
