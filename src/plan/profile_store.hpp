// Device profiles on disk: their encoding, when a stored one is measured again, and how two are combined.
// docs/formats/kernel-cache.md describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

std::vector<std::byte> encode_profile(const DeviceProfile& profile);
// Empty when the length is wrong or a value is negative or not finite.
std::optional<DeviceProfile> decode_profile(std::span<const std::byte> bytes, std::string device);

enum class ProfileAge : std::uint8_t {
  current,  // use as it is
  young,    // few measurements, and the last one long enough ago to be independent: measure again and combine
  expired   // measure again and replace
};
// `now` in seconds since 1970 UTC. A profile from the future counts as expired: the clock was set back.
ProfileAge age_of(const DeviceProfile& profile, std::int64_t now) noexcept;

// The better value of each quantity: background load only ever makes a device look slower. Counts the measurements of
// both; date and duration are those of `newer`.
DeviceProfile combine_best(const DeviceProfile& older, const DeviceProfile& newer);

}  // namespace vectis::inline v0_1::detail
