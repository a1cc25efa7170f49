// Products of matrices by the vendor's library, opened at run time when it is there, never linked and never required.
#pragma once

#include <memory>
#include <mutex>

#include "backends/plugin/host.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

// The library made ready for one context. Thread-safe.
class Blas {
 public:
  Blas() = default;
  virtual ~Blas() = default;
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // Enqueues the operation `matmul`; the stream's context is current. Throws UNSUPPORTED, with nothing enqueued, for
  // types it does not multiply and for whatever fails.
  virtual void multiply(const VectisStream& stream, const VectisOpCall& call) const = 0;
};

class BlasLibrary {
 public:
  BlasLibrary() = default;
  virtual ~BlasLibrary() = default;
  BlasLibrary(const BlasLibrary&) = delete;
  BlasLibrary& operator=(const BlasLibrary&) = delete;

  // For the context that is current. Throws UNSUPPORTED.
  [[nodiscard]] virtual std::unique_ptr<const Blas> create() const = 0;
};

// The vendor's own: backends/cuda/cublaslt.cpp, backends/hip/own.cpp. Null where there is none.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host& host);

// Opens it when it is first asked for. Thread-safe.
class BlasSource {
 public:
  explicit BlasSource(const plugin::Host& host) : host_(host) {}
  // Null where there is none.
  [[nodiscard]] const BlasLibrary* get() {
    const std::lock_guard lock(mutex_);
    if (!asked_) library_ = open_blas(host_);
    asked_ = true;
    return library_.get();
  }

 private:
  const plugin::Host& host_;
  std::mutex mutex_;
  bool asked_ = false;
  std::unique_ptr<const BlasLibrary> library_;
};

}  // namespace vectis::cuda_hip
