// libnvidia-ml.so: the functions of NVML that the plug-in calls.
#include <cstdio>
#include <cstring>
#include <string>

#include "control.hpp"

struct nvmlDevice_st;  // NOLINT(readability-identifier-naming): NVML's own name for it

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

constexpr int uninitialized = 1;
constexpr int invalid_argument = 2;
constexpr int not_found = 6;

void need_session() {
  if (Control::get().live(VECTIS_DRIVER_SESSIONS) < 1) refuse(uninitialized, "a call before nvmlInit");
}

// Devices are numbers from one.
int device_of(const nvmlDevice_st* handle) {
  need_session();
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  const std::uint64_t count = Control::get().setting("devices", 1);
  if (number < 1 || number > count) refuse(invalid_argument, "a handle of no device of NVML");
  return static_cast<int>(number) - 1;
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT const char* nvmlErrorString(int code) { return code == not_found ? "Not Found" : "Unknown Error"; }

VTD_EXPORT int nvmlInit_v2() {
  return entered("nvmlInit_v2", [] { Control::get().count(VECTIS_DRIVER_SESSIONS, 1); });
}

VTD_EXPORT int nvmlShutdown() {
  return entered(
      "nvmlShutdown",
      [] {
        need_session();
        Control::get().count(VECTIS_DRIVER_SESSIONS, -1);
      },
      true);
}

VTD_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, nvmlDevice_st** device) {
  return entered("nvmlDeviceGetHandleByPciBusId_v2", [&] {
    need_session();
    for (std::uintptr_t number = 1; number <= Control::get().setting("devices", 1); ++number) {
      char name[32];
      std::snprintf(name, sizeof name, "0000:%02x:00.0", static_cast<unsigned>(number));
      if (std::strcmp(name, bus) != 0) continue;
      *device = reinterpret_cast<nvmlDevice_st*>(number);
      return;
    }
    throw Refusal{not_found};
  });
}

VTD_EXPORT int nvmlDeviceGetUtilizationRates(nvmlDevice_st* device, void* target) {
  return entered("nvmlDeviceGetUtilizationRates", [&] {
    const int number = device_of(device);
    auto* rates = static_cast<Utilization*>(target);
    rates->gpu = static_cast<unsigned>(Control::get().setting("busy", 30)) + static_cast<unsigned>(number);
    rates->memory = 99;
  });
}

VTD_EXPORT int nvmlDeviceGetMemoryInfo(nvmlDevice_st* device, void* target) {
  return entered("nvmlDeviceGetMemoryInfo", [&] {
    device_of(device);
    auto* memory = static_cast<Memory*>(target);
    memory->total = Control::get().setting("memory", std::uint64_t{16} << 30U);
    memory->used = Control::get().setting("others", std::uint64_t{3} << 30U);
    memory->free = memory->total - memory->used;
  });
}
