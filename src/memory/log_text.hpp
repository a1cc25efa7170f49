// One line of an allocation log, to text and back.
#pragma once

#include <string>
#include <string_view>

#include "vectis/memory/log.hpp"

namespace vectis::inline v0_1::detail {

constexpr std::string_view log_header = "vectis-allocation-log 1";

// What is wrong with a first line; empty when nothing is.
std::string header_fault(std::string_view line);

std::string format_event(const AllocationEvent& event);
// Sets `fault` to what is wrong when the line is no event.
AllocationEvent parse_event(std::string_view line, std::string* fault);

}  // namespace vectis::inline v0_1::detail
