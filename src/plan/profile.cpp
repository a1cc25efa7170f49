#include "vectis/plan/profile.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include "device/cores.hpp"
#include "kernel/cache/disk_cache.hpp"
#include "plan/calibration.hpp"
#include "plan/device_probe.hpp"
#include "plan/profile_bytes.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr double calibration_budget = 0.45;  // seconds

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
  explicit Profiles(Runtime& runtime) : runtime_(runtime), kept_(runtime, "profiles") {}

  const DeviceProfile& of(const Device& device) {
    Place& place = place_of(device);
    const std::lock_guard lock(place.mutex);
    if (place.failure) throw Error(*place.failure);
    if (!place.profile) {
      try {
        place.profile = load_or_measure(device);
      } catch (const Error& error) {
        place.failure = error;
        throw;
      }
    }
    return *place.profile;
  }

 private:
  struct Place {
    std::mutex mutex;
    std::optional<DeviceProfile> profile;
    std::optional<Error> failure;
  };

  Place& place_of(const Device& device) {
    const std::lock_guard lock(mutex_);
    return places_[device.id()];
  }

  DeviceProfile load_or_measure(const Device& device) {
    const std::string key = profile_key(runtime_, device);
    if (const auto found = kept_.find(key); found.payload) {
      if (auto profile = detail::decode_profile(*found.payload, device.label())) return *std::move(profile);
    }
    DeviceProfile measured = calibrate(device);
    if (measured.complete) kept_.put(key, detail::encode_profile(measured));
    return measured;
  }

  Runtime& runtime_;
  detail::DiskCache kept_;
  std::mutex mutex_;
  std::map<int, Place> places_;  // guarded by mutex_; a place stays where it is
};

}  // namespace

const DeviceProfile& profile(const Device& device) {
  return device.core()->backend->runtime.service<Profiles>().of(device);
}

DeviceProfile calibrate(const Device& device) {
  detail::DeviceProbe probe(device);
  return detail::calibrate_with(probe, device.label(), calibration_budget);
}

}  // namespace vectis::inline v0_1
