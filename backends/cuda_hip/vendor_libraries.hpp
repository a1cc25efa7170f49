// Libraries of the vendor that are opened at run time where they are installed: BLAS and monitoring. Never linked and
// never required.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backends/plugin/host.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

// Matrix products in one context. Thread-safe.
class Blas {
 public:
  Blas() = default;
  virtual ~Blas() = default;
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // Enqueues the operation `matmul`. Precondition: the stream's context is current. Throws UNSUPPORTED, with nothing
  // enqueued, for element types it does not multiply and for every failure.
  virtual void multiply(const VectisStream& stream, const VectisOpCall& call) const = 0;
};

// An opened library. Thread-safe.
class BlasLibrary {
 public:
  BlasLibrary() = default;
  virtual ~BlasLibrary() = default;
  BlasLibrary(const BlasLibrary&) = delete;
  BlasLibrary& operator=(const BlasLibrary&) = delete;

  // Creates a handle for the current context. Throws UNSUPPORTED.
  [[nodiscard]] virtual std::unique_ptr<const Blas> create() const = 0;
};

// backends/cuda/cublaslt.cpp, backends/hip/vendor.cpp. Null when the library is not installed.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host& host);

// Opens the library at first use. Thread-safe.
class LazyBlas {
 public:
  explicit LazyBlas(const plugin::Host& host) : host_(host) {}
  // Null when the library is not installed.
  [[nodiscard]] const BlasLibrary* get() {
    const std::lock_guard lock(mutex_);
    if (!opened_) library_ = open_blas(host_);
    opened_ = true;
    return library_.get();
  }

 private:
  const plugin::Host& host_;
  std::mutex mutex_;
  bool opened_ = false;                         // guarded by mutex_
  std::unique_ptr<const BlasLibrary> library_;  // guarded by mutex_
};

struct MonitoredMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// A session with the vendor's management library, which also sees other processes. Every failure throws UNSUPPORTED
// with its cause. Thread-safe.
class Monitor {
 public:
  Monitor() = default;
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // `bus` is the device's PCI bus id as the driver writes it: "0000:01:00.0".
  // The fraction of recent time in which a kernel ran, 0 to 1.
  [[nodiscard]] virtual double utilization(const std::string& bus) const = 0;
  [[nodiscard]] virtual MonitoredMemory memory(const std::string& bus) const = 0;
};

// backends/cuda/nvml.cpp, backends/hip/vendor.cpp. Throws UNSUPPORTED when the library is not installed.
std::unique_ptr<const Monitor> open_monitor(const plugin::Host& host);

}  // namespace vectis::cuda_hip
