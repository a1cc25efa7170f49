// A Diagnosis as one line of JSON: written by the probe process, read by the doctor.
#pragma once

#include <optional>
#include <string>

#include "vectis/device/doctor.hpp"

namespace vectis::inline v0_1::detail {

// Returns `diagnosis` and `install`, the plug-in's own advice, as one line of JSON for parse_line(). Leaves out
// diagnosis.advice and DeviceSummary::same_card_as. Replaces bytes that are not valid UTF-8.
std::string to_line(const Diagnosis& diagnosis, const std::string& install);

// What parse_line() reads from a line of the probe process: the diagnosis, still without advice, and the plug-in's
// own advice `install`.
struct ProbeAnswer {
  Diagnosis diagnosis;
  std::string install;
};

// Parses a line that to_line() wrote. Returns an empty optional when `line` is not JSON or lacks a field: the probe
// process then failed.
std::optional<ProbeAnswer> parse_line(const std::string& line);

}  // namespace vectis::inline v0_1::detail
