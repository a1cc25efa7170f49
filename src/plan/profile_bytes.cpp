#include "plan/profile_bytes.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "vectis/base/bytes.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// In the order of the file.
auto numbers_of(auto& profile) {
  auto& rate = profile.operations_per_second;
  return std::array{&profile.launch_seconds,
                    &profile.compile_seconds,
                    &profile.to_device.call_seconds,
                    &profile.to_device.bytes_per_second,
                    &profile.to_host.call_seconds,
                    &profile.to_host.bytes_per_second,
                    &profile.memory_bytes_per_second,
                    &rate.fp32,
                    &rate.fp16,
                    &rate.bf16,
                    &rate.int8,
                    &profile.resolution_seconds,
                    &profile.calibration_seconds};
}

}  // namespace

std::vector<std::byte> encode_profile(const DeviceProfile& profile) {
  MemoryWriter writer;
  for (const double* number : numbers_of(profile)) writer.put(*number);
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::optional<DeviceProfile> decode_profile(std::span<const std::byte> bytes, std::string device) {
  DeviceProfile profile;
  const auto numbers = numbers_of(profile);
  if (bytes.size() != numbers.size() * sizeof(double)) return std::nullopt;
  MemoryReader reader(bytes);
  for (double* number : numbers) {
    *number = reader.get<double>();
    if (!std::isfinite(*number) || *number < 0) return std::nullopt;
  }
  profile.device = std::move(device);
  profile.complete = true;  // others are not kept
  return profile;
}

}  // namespace vectis::inline v0_1::detail
