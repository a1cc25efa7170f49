// Sizes, times and rates as text.
#pragma once

#include <cstdint>
#include <string>

namespace vectis::python {

std::string format_bytes(std::uint64_t bytes);  // "1.5 MiB"
std::string format_seconds(double seconds);     // "2.35 ms"
std::string format_rate(double per_second);     // "12.5 G/s"; empty for 0, which means not measured

// Returns text without the ends of lines at its end, as Python's print() adds one.
std::string without_last_newline(std::string text);

}  // namespace vectis::python
