// A backend's health as a line of JSON: what the probe process writes and the doctor reads.
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

// Empty when the line is not one that to_line wrote.
std::optional<ProbeAnswer> parse_line(const std::string& line);

}  // namespace vectis::inline v0_1::detail
