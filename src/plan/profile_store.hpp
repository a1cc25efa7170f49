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

// Returns the bytes that decode_profile reads. `profile.complete` must be true: decode_profile assumes it. The name
// of the device is not encoded.
std::vector<std::byte> encode_profile(const DeviceProfile& profile);
// Reads the bytes of encode_profile into a profile named `device`. Returns nothing when the length is wrong, a value
// is negative or not finite, or the number of measurements is 0.
std::optional<DeviceProfile> decode_profile(std::span<const std::byte> bytes, std::string device);

// Whether a stored profile can be used as it is, or is measured again.
enum class ProfileAge : std::uint8_t {
  current,  // use as it is
  young,    // few measurements, and the last one long enough ago to be independent: measure again and combine
  expired   // measure again and replace
};
// Returns what to do with a stored profile at the time `now`, in seconds since 1970 UTC. A profile from the future
// counts as expired, since the clock was set back. Does not throw.
ProfileAge age_of(const DeviceProfile& profile, std::int64_t now) noexcept;

// Returns the better value of each quantity of two profiles of one device, since background load only makes a device
// look slower. Adds up the measurements of both; date and duration are those of `newer`.
DeviceProfile combine_best(const DeviceProfile& older, const DeviceProfile& newer);

}  // namespace vectis::inline v0_1::detail
