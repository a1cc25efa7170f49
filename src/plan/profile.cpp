#include "vectis/plan/profile.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>

#include "device/cores.hpp"
#include "kernel/cache/disk_cache.hpp"
#include "plan/calibration.hpp"
#include "plan/device_probe.hpp"
#include "plan/profile_store.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1 {

double& ByPrecision::at(Precision precision) noexcept {
  switch (precision) {
    case Precision::fp16:
      return fp16;
    case Precision::bf16:
      return bf16;
    case Precision::int8:
      return int8;
    case Precision::fp32:
      break;
  }
  return fp32;
}

double ByPrecision::at(Precision precision) const noexcept { return const_cast<ByPrecision*>(this)->at(precision); }

namespace {

constexpr double calibration_budget = 0.45;  // seconds
// After this time a device that could not be calibrated is tried again: it may have been busy, or short of memory.
constexpr std::int64_t retry_seconds = 60;

std::string profile_key(const Runtime& runtime, const Device& device) {
  const CpuInfo& cpu = cpu_info();
  return fmt::format("vectis {}\nmachine {} {} cores {} bytes {}\nbackend {}\nlabel {}\ndevice {}\ndriver {}",
                     version(), cpu.name, cpu.cores, runtime.os().memory_total_bytes(),
                     runtime.os().read_file("/etc/machine-id").value_or(""), device.backend(), device.label(),
                     device.info().name, device.info().driver);
}

// The profiles of a Runtime's devices. Thread-safe.
class Profiles {
 public:
  explicit Profiles(Runtime& runtime) : runtime_(runtime), disk_(runtime, "profiles") {}

  const DeviceProfile& of(const Device& device) {
    Entry& entry = entry_of(device);
    const std::lock_guard lock(entry.mutex);
    if (entry.profile) return *entry.profile;
    const std::int64_t now = runtime_.os().unix_seconds();
    // A clock that was set back does not make the wait longer.
    const bool waits = now >= entry.failed_at && now - entry.failed_at < retry_seconds;
    if (entry.failure && waits) throw Error(*entry.failure);
    try {
      entry.profile = load_or_calibrate(device);
    } catch (const Error& error) {
      entry.failure = error;
      entry.failed_at = now;
      throw;
    }
    return *entry.profile;
  }

  DeviceProfile recalibrate(const Device& device) {
    const std::string key = profile_key(runtime_, device);
    return calibrate_and_store(device, key, load(device, key));
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<DeviceProfile> profile;
    std::optional<Error> failure;
    std::int64_t failed_at = 0;  // seconds since 1970 UTC
  };

  Entry& entry_of(const Device& device) {
    const std::lock_guard lock(mutex_);
    return entries_[device.id()];
  }

  [[nodiscard]] std::optional<DeviceProfile> load(const Device& device, const std::string& key) const {
    const auto found = disk_.find(key);
    return found.payload ? detail::decode_profile(*found.payload, device.label()) : std::nullopt;
  }

  // Combines the new measurement with `stored`, if any. An incomplete measurement is used but not stored.
  DeviceProfile calibrate_and_store(const Device& device, const std::string& key,
                                    const std::optional<DeviceProfile>& stored) {
    DeviceProfile measured = calibrate(device);
    const bool complete = measured.complete;
    if (stored) measured = detail::combine_best(*stored, measured);
    if (complete) disk_.put(key, detail::encode_profile(measured));
    return measured;
  }

  DeviceProfile load_or_calibrate(const Device& device) {
    const std::string key = profile_key(runtime_, device);
    std::optional<DeviceProfile> stored = load(device, key);
    if (!stored) return calibrate_and_store(device, key, std::nullopt);
    switch (detail::age_of(*stored, runtime_.os().unix_seconds())) {
      case detail::ProfileAge::young:
        return calibrate_and_store(device, key, stored);
      case detail::ProfileAge::expired:
        return calibrate_and_store(device, key, std::nullopt);
      case detail::ProfileAge::current:
        break;
    }
    return *std::move(stored);
  }

  Runtime& runtime_;
  detail::DiskCache disk_;
  std::mutex mutex_;
  std::map<int, Entry> entries_;  // guarded by mutex_; entries never move
};

Profiles& profiles_of(const Device& device) { return device.core()->backend->runtime.service<Profiles>(); }

}  // namespace

const DeviceProfile& profile(const Device& device) { return profiles_of(device).of(device); }

DeviceProfile calibrate(const Device& device) {
  detail::DeviceProbe probe(device);
  DeviceProfile measured = detail::calibrate_with(probe, device.label(), calibration_budget);
  measured.measured_at = device.core()->backend->runtime.os().unix_seconds();
  return measured;
}

DeviceProfile recalibrate(const Device& device) { return profiles_of(device).recalibrate(device); }

}  // namespace vectis::inline v0_1
