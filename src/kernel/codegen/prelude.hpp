// The text that stands before every printed kernel and defines the words its body may use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// What a dialect says in words of its own: FUNCTION, places and sizes, barrier, conversions, bit casts, functions,
// atomics. Begins with the dialect's first line, such as GLSL's #version.
std::string_view opencl_prelude() noexcept;
std::string_view cuda_prelude() noexcept;  // and HIP's
std::string_view glsl_prelude() noexcept;

// Written in these words, the same for all dialects: packing, integer minimum and maximum, saturating conversions.
std::string_view common_prelude() noexcept;

// Both together. The generated kernels of the IR stand on it too. InvalidInput for wgsl, which has no macros.
std::string prelude(Dialect dialect);

// GROUP_SIZE(d), a constant in every dialect. Stands after the prelude, which uses it.
std::string group_size_word(const std::array<std::uint32_t, 3>& group);

// "#line 1" with the name of a part, so that compilers count the lines of the user's text from its own first line.
std::string line_marker(std::string_view part);

}  // namespace vectis::inline v0_1::detail
