// A profile as it is kept on disk. docs/formats/kernel-cache.md is the format.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

std::vector<std::byte> encode_profile(const DeviceProfile& profile);
// Empty when these bytes are none, or a number in them is none a measurement gives.
std::optional<DeviceProfile> decode_profile(std::span<const std::byte> bytes, std::string device);

}  // namespace vectis::inline v0_1::detail
