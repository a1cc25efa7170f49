// A Diagnosis as one line of JSON: written by the probe process, read by the doctor.
#pragma once

#include <optional>
#include <string>

#include "vectis/device/doctor.hpp"

namespace vectis::inline v0_1::detail {

std::string to_line(const Diagnosis& diagnosis, const std::string& install);

struct ProbeAnswer {
  Diagnosis diagnosis;
  std::string install;
};

// Empty when the line was not written by to_line.
std::optional<ProbeAnswer> parse_line(const std::string& line);

}  // namespace vectis::inline v0_1::detail
