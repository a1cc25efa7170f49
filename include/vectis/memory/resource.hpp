// Where device memory comes from: small resources that wrap one another.
//
//   DeviceResource device(context);              // the driver itself
//   LimitResource limited(device, 1 << 30);      // never more than 1 GiB at once
//   StatisticsResource counted(limited);         // and it is counted
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1 {

// What is asked for. `stream` is where the memory will be used and released; none: the releaser says that all work is
// done.
struct MemoryRequest {
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  Stream* stream = nullptr;
  Context context = {};  // its memory tag names the allocation, its deadline bounds the wait for other streams
};

// What was given. `memory` has at least `bytes` bytes.
struct MemoryBlock {
  DeviceMemory memory;
  std::uint64_t bytes = 0;  // asked for
};

// Thread-safe. The one contract that every resource keeps, and tests/memory/conformance.hpp checks:
// - allocate gives memory that no other live block overlaps, or throws: InvalidInput for 0 bytes or more than the
//   device can ever give, Allocation otherwise; after a throw nothing changed.
// - deallocate takes back a block of this resource, once, and cannot fail.
class VECTIS_API MemoryResource {
 public:
  MemoryResource() = default;
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;
  virtual ~MemoryResource() = default;

  [[nodiscard]] virtual MemoryBlock allocate(const MemoryRequest& request) = 0;
  virtual void deallocate(MemoryBlock block, Stream* stream) noexcept = 0;
  [[nodiscard]] virtual DeviceContext context() const = 0;
};

// The driver's own allocation. Freed memory still serves work already enqueued.
class VECTIS_API DeviceResource final : public MemoryResource {
 public:
  explicit DeviceResource(DeviceContext context);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return context_; }

 private:
  DeviceContext context_;
};

// Refuses what would bring the bytes asked for and not yet returned above a limit.
class VECTIS_API LimitResource final : public MemoryResource {
 public:
  LimitResource(MemoryResource& upstream, std::uint64_t limit_bytes);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  [[nodiscard]] std::uint64_t used_bytes() const;

 private:
  MemoryResource& upstream_;
  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
};

struct ResourceStatistics {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;
  std::uint64_t live_bytes = 0;  // asked for and not yet returned
  std::uint64_t peak_bytes = 0;
};

class VECTIS_API StatisticsResource final : public MemoryResource {
 public:
  explicit StatisticsResource(MemoryResource& upstream);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  [[nodiscard]] ResourceStatistics statistics() const;

 private:
  MemoryResource& upstream_;
  mutable std::mutex mutex_;
  ResourceStatistics statistics_;
};

// Throws Allocation where a rule says so, for tests of what happens then.
class VECTIS_API FailingResource final : public MemoryResource {
 public:
  // True: this allocation fails. `number` counts the calls from 1.
  using Rule = std::function<bool(std::uint64_t number, const MemoryRequest& request)>;

  FailingResource(MemoryResource& upstream, Rule rule);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }

 private:
  MemoryResource& upstream_;
  Rule rule_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;
};

}  // namespace vectis::inline v0_1
