// Libraries of the vendor that are opened at run time where they are installed: BLAS and monitoring. Never linked and
// never required.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backends/plugin/host.hpp"
#include "driver.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

// Memory of the device that a library may use while its work on one stream runs; empty when `bytes` is 0.
struct Workspace {
  Address address{};
  std::size_t bytes = 0;
};

// Computes matrix products in the context for which BlasLibrary::create() made it. Thread-safe.
class Blas {
 public:
  Blas() = default;
  virtual ~Blas() = default;
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // Enqueues the operation `matmul` on the stream, to which `workspace` belongs. Precondition: the stream's context is
  // current. Throws Failure with
  // VECTIS_UNSUPPORTED, with nothing enqueued, for element types other than float32, float16 and bfloat16 and for
  // every failure of the library.
  virtual void multiply(const VectisStream& stream, const VectisOpCall& call, const Workspace& workspace) const = 0;
};

// An opened BLAS library of the vendor. Thread-safe. It must outlive every Blas that it creates.
class BlasLibrary {
 public:
  BlasLibrary() = default;
  virtual ~BlasLibrary() = default;
  BlasLibrary(const BlasLibrary&) = delete;
  BlasLibrary& operator=(const BlasLibrary&) = delete;

  // Creates a Blas for the current context, which must exist. Throws Failure with VECTIS_UNSUPPORTED when the library
  // cannot create its handle.
  [[nodiscard]] virtual std::unique_ptr<const Blas> create() const = 0;
};

// Opens the vendor's BLAS: cuBLASLt of the newest major version that a driver of this version runs, in the loader's
// path or one of library_places(), or the file that the setting `blas` names. Returns null when it is not installed,
// lacks a function, is of a newer major version than the driver or is "off", and always for HIP. May throw
// std::bad_alloc.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host& host, int driver_version);

// Opens the vendor's BLAS library at first use and keeps it. Thread-safe. The host must outlive it.
class LazyBlas {
 public:
  explicit LazyBlas(const plugin::Host& host) : host_(host) {}

  // Returns the library for a driver of this version, opened by the first call and owned by this object, or null when
  // it cannot be used or is switched off. The first answer stays, also when the first call throws.
  [[nodiscard]] const BlasLibrary* get(int driver_version) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(opened_, true)) library_ = open_blas(host_, driver_version);
    return library_.get();
  }

 private:
  const plugin::Host& host_;
  std::mutex mutex_;
  bool opened_ = false;                         // guarded by mutex_
  std::unique_ptr<const BlasLibrary> library_;  // guarded by mutex_
};

// The memory of a device as the vendor's management library reports it, over all processes.
struct MonitoredMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// A session with the vendor's management library, which also sees other processes. Thread-safe.
class Monitor {
 public:
  Monitor() = default;
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Returns the fraction of recent time in which a kernel ran on the device, 0 to 1. `bus` is the PCI bus id as the
  // driver writes it: "0000:01:00.0". Throws Failure with VECTIS_UNSUPPORTED and the cause when the library fails.
  [[nodiscard]] virtual double utilization(const std::string& bus) const = 0;
  // Returns the total and free bytes of the device. `bus` is the PCI bus id as the driver writes it: "0000:01:00.0".
  // Throws Failure with VECTIS_UNSUPPORTED and the cause when the library fails.
  [[nodiscard]] virtual MonitoredMemory memory(const std::string& bus) const = 0;
};

// Opens NVML, or the file that the setting `monitor` names, and starts a session. Throws Failure with
// VECTIS_UNSUPPORTED when it is not installed, lacks a function or cannot be initialized, and always for HIP.
std::unique_ptr<const Monitor> open_monitor(const plugin::Host& host);

}  // namespace vectis::cuda_hip
