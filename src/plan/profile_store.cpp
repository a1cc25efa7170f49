#include "plan/profile_store.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "vectis/base/bytes.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint32_t measurements_enough = 3;
constexpr std::int64_t minute = 60;
constexpr std::int64_t day = 24 * 60 * minute;
constexpr std::int64_t independent_after = 10 * minute;  // background load of the last measurement has likely changed
constexpr std::int64_t expires_after = 30 * day;         // drivers' settings, power limits and cooling change

// Times: smaller is better.
auto times_of(auto& profile) {
  return std::array{&profile.launch_seconds, &profile.compile_seconds, &profile.to_device.call_seconds,
                    &profile.to_host.call_seconds, &profile.resolution_seconds};
}

// Rates: larger is better.
auto rates_of(auto& profile) {
  auto& rate = profile.operations_per_second;
  return std::array{&profile.to_device.bytes_per_second,
                    &profile.to_host.bytes_per_second,
                    &profile.memory_bytes_per_second,
                    &rate.fp32,
                    &rate.fp16,
                    &rate.bf16,
                    &rate.int8};
}

// Calls `visit` with every stored number, in the order of the file.
template <class Profile, class Visit>
void visit_stored(Profile& profile, const Visit& visit) {
  for (auto* seconds : times_of(profile)) visit(*seconds);
  for (auto* rate : rates_of(profile)) visit(*rate);
  visit(profile.calibration_seconds);
}

constexpr std::size_t stored_doubles = 13;
constexpr std::size_t stored_bytes = stored_doubles * sizeof(double) + sizeof(std::int64_t) + sizeof(std::uint32_t);

}  // namespace

std::vector<std::byte> encode_profile(const DeviceProfile& profile) {
  MemoryWriter writer;
  visit_stored(profile, [&](double number) { writer.put(number); });
  writer.put(profile.measured_at);
  writer.put(profile.measurements);
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::optional<DeviceProfile> decode_profile(std::span<const std::byte> bytes, std::string device) {
  if (bytes.size() != stored_bytes) return std::nullopt;
  DeviceProfile profile;
  MemoryReader reader(bytes);
  bool valid = true;
  visit_stored(profile, [&](double& number) {
    number = reader.get<double>();
    valid = valid && std::isfinite(number) && number >= 0;
  });
  profile.measured_at = reader.get<std::int64_t>();
  profile.measurements = reader.get<std::uint32_t>();
  if (!valid || profile.measured_at < 0 || profile.measurements == 0) return std::nullopt;
  profile.device = std::move(device);
  profile.complete = true;  // incomplete profiles are never stored
  return profile;
}

ProfileAge age_of(const DeviceProfile& profile, std::int64_t now) noexcept {
  const std::int64_t age = now - profile.measured_at;
  if (age < 0 || age > expires_after) return ProfileAge::expired;
  if (profile.measurements < measurements_enough && age >= independent_after) return ProfileAge::young;
  return ProfileAge::current;
}

DeviceProfile combine_best(const DeviceProfile& older, const DeviceProfile& newer) {
  DeviceProfile best = newer;
  const auto times = times_of(best);
  const auto older_times = times_of(older);
  for (std::size_t i = 0; i < times.size(); ++i) *times[i] = std::min(*times[i], *older_times[i]);
  const auto rates = rates_of(best);
  const auto older_rates = rates_of(older);
  for (std::size_t i = 0; i < rates.size(); ++i) *rates[i] = std::max(*rates[i], *older_rates[i]);
  best.measurements = older.measurements + newer.measurements;
  best.complete = older.complete || newer.complete;
  return best;
}

}  // namespace vectis::inline v0_1::detail
