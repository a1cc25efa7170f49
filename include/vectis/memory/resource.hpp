// Memory resources (as in RMM and std::pmr): small allocators that wrap one another.
//
//   DeviceResource device(context);              // the driver itself
//   LimitResource limited(device, 1 << 30);      // at most 1 GiB live at once
//   StatisticsResource counted(limited);         // counts allocations
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

struct MemoryRequest {
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  Stream* stream = nullptr;  // uses and releases the memory; null: the memory is idle when it is deallocated
  Context context = {};      // its memory tag names the allocation, its deadline bounds the wait for other streams
};

struct MemoryBlock {
  DeviceMemory memory;      // at least `bytes` long
  std::uint64_t bytes = 0;  // as requested
};

// The contract of every resource, checked by tests/memory/conformance.hpp:
// - allocate returns memory that overlaps no other live block. It throws InvalidInput for 0 bytes or more than the
// device's
//   largest allocation, and Allocation when there is not enough memory. A throw changes nothing.
// - deallocate takes back a block of this resource, exactly once, and cannot fail.
// Thread-safe. A resource must outlive those that wrap it.
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

// Allocates from the driver. Memory may be deallocated while enqueued work still uses it.
class VECTIS_API DeviceResource final : public MemoryResource {
 public:
  explicit DeviceResource(DeviceContext context);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return context_; }

 private:
  DeviceContext context_;
};

// Throws Allocation when the live bytes, as requested, would exceed a limit.
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
  std::uint64_t failures = 0;    // calls of allocate that threw
  std::uint64_t live_bytes = 0;  // as requested
  std::uint64_t peak_bytes = 0;  // high-water mark of live_bytes
};

// Counts allocations, deallocations, failures and live bytes.
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

// Fault injection for tests: throws Allocation where a rule says so.
class VECTIS_API FailingResource final : public MemoryResource {
 public:
  // Returns true to fail this allocation. `number` counts the calls from 1.
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
