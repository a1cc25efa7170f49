// Settings that are numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/plugin/host.hpp"

namespace vectis::webgpu {

// A whole number from 1 on of `unit` ("MiB"); empty when it is not set. Throws INVALID_INPUT for anything else.
std::optional<std::uint64_t> number_setting(const plugin::Host& host, const char* key, const char* unit);

}  // namespace vectis::webgpu
