// Times and rates as text.
#pragma once

#include <string>
#include <string_view>

namespace vectis::python {

std::string format_seconds(double seconds);  // "2.35 ms"
// "12.5 GB/s" with the unit "B", "1830 Gop/s" with "op"; empty for 0, which means not measured.
std::string format_rate(double per_second, std::string_view unit);

// Returns text without the ends of lines at its end, as Python's print() adds one.
std::string without_last_newline(std::string text);

}  // namespace vectis::python
