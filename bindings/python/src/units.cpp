#include "units.hpp"

#include <fmt/format.h>

namespace vectis::python {

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

std::string format_rate(double per_second, std::string_view unit) {
  const double billions = per_second / 1e9;
  return per_second == 0 ? "" : fmt::format("{:.{}f} G{}/s", billions, billions < 100 ? 1 : 0, unit);
}

std::string without_last_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace vectis::python
