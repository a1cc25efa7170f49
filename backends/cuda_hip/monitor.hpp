// What the vendor's management library tells of a device, also of other processes on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/plugin/host.hpp"

namespace vectis::cuda_hip {

struct MonitoredMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// An opened session with the library. Every failure is UNSUPPORTED with its reason: nobody depends on these numbers.
// Thread-safe.
class Monitor {
 public:
  Monitor() = default;
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // `bus` is the device's place on the PCI bus, as the driver writes it.
  [[nodiscard]] virtual double utilization(const std::string& bus) const = 0;
  [[nodiscard]] virtual MonitoredMemory memory(const std::string& bus) const = 0;
};

// The vendor's own: backends/cuda/nvml.cpp, backends/hip/own.cpp. Throws UNSUPPORTED when there is none.
std::unique_ptr<const Monitor> open_monitor(const plugin::Host& host);

}  // namespace vectis::cuda_hip
