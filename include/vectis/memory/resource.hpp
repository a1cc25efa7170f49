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

// Arguments of MemoryResource::allocate, which throws InvalidInput when `bytes` is 0 or more than the device's
// largest allocation.
struct MemoryRequest {
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  Stream* stream = nullptr;  // uses and releases the memory; null: the memory is idle when it is deallocated
  Context context = {};      // its memory tag names the allocation, its deadline bounds the wait for other streams
};

// Memory that MemoryResource::allocate returned, to be passed exactly once to deallocate of the same resource.
struct MemoryBlock {
  DeviceMemory memory;      // at least `bytes` long
  std::uint64_t bytes = 0;  // as requested
};

// Interface of an allocator of device memory; resources can wrap one another. A resource must outlive those that wrap
// it. Thread-safe. tests/memory/conformance.hpp checks the contract of allocate and deallocate.
class VECTIS_API MemoryResource {
 public:
  MemoryResource() = default;
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;
  virtual ~MemoryResource() = default;

  // Returns memory that overlaps no other live block. Throws InvalidInput for 0 bytes or more than the device's
  // largest allocation, and Allocation when there is not enough memory. A throw changes nothing.
  [[nodiscard]] virtual MemoryBlock allocate(const MemoryRequest& request) = 0;
  // Takes back a block, which must come from allocate() of this resource and be passed exactly once. `stream` is the
  // stream that used the memory; null: the memory is idle. Does not throw.
  virtual void deallocate(MemoryBlock block, Stream* stream) noexcept = 0;
  // Returns the device context in which the resource allocates.
  [[nodiscard]] virtual DeviceContext context() const = 0;
};

// Allocates every block from the driver. A block may be deallocated while enqueued work still uses it. allocate()
// throws Allocation when the driver is out of memory. Thread-safe.
class VECTIS_API DeviceResource final : public MemoryResource {
 public:
  explicit DeviceResource(DeviceContext context);
  // Allocates `request.bytes` bytes from the driver. Throws InvalidInput for 0 bytes or more than the device's
  // largest allocation, Allocation when the driver is out of memory, and DeviceLost when the device is gone.
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  // Frees a block that allocate() returned, once no other handle refers to its memory. Ignores `stream`. Does not
  // throw.
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return context_; }

 private:
  DeviceContext context_;
};

// Passes requests on to another resource as long as the live bytes, as requested, stay within a limit; allocate()
// throws Allocation for a request beyond the limit. Thread-safe.
class VECTIS_API LimitResource final : public MemoryResource {
 public:
  // Limits what is allocated from `upstream`, which must outlive this resource, to `limit_bytes` live bytes.
  LimitResource(MemoryResource& upstream, std::uint64_t limit_bytes);
  // Allocates from the upstream resource. Throws Allocation when the live bytes and `request.bytes` together exceed
  // the limit, and otherwise what the upstream throws: InvalidInput for 0 bytes, Allocation when memory is short.
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  // Gives a block, which must come from allocate() of this resource, back to the upstream resource and its bytes back
  // to the limit. Does not throw.
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  // Returns the bytes of all live blocks, as requested.
  [[nodiscard]] std::uint64_t used_bytes() const;

 private:
  MemoryResource& upstream_;
  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
};

// Counters of a StatisticsResource since its construction.
struct ResourceStatistics {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;    // calls of allocate that threw
  std::uint64_t live_bytes = 0;  // as requested
  std::uint64_t peak_bytes = 0;  // high-water mark of live_bytes
};

// Passes requests on to another resource and counts allocations, deallocations, failures and live bytes. Thread-safe.
class VECTIS_API StatisticsResource final : public MemoryResource {
 public:
  // Counts what is allocated from `upstream`, which must outlive this resource.
  explicit StatisticsResource(MemoryResource& upstream);
  // Allocates from the upstream resource and counts the block. When the upstream throws (InvalidInput for 0 bytes,
  // Allocation when memory is short), counts a failure and rethrows.
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  // Gives a block, which must come from allocate() of this resource, back to the upstream resource and counts it.
  // Does not throw.
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  // Returns a copy of the counters, all from one moment.
  [[nodiscard]] ResourceStatistics statistics() const;

 private:
  MemoryResource& upstream_;
  mutable std::mutex mutex_;
  ResourceStatistics statistics_;
};

// Fault injection for tests: allocate() throws Allocation where a rule returns true, and otherwise passes the request
// on to another resource. Thread-safe.
class VECTIS_API FailingResource final : public MemoryResource {
 public:
  // Returns true to make this call of allocate() throw Allocation. `number` counts the calls from 1. The rule runs
  // with a lock held, so that it must not call the resource.
  using Rule = std::function<bool(std::uint64_t number, const MemoryRequest& request)>;

  // Makes allocations from `upstream`, which must outlive this resource, fail by `rule`, which must not be empty.
  FailingResource(MemoryResource& upstream, Rule rule);
  // Calls the rule; throws Allocation when the rule returns true. Otherwise allocates from the upstream resource and
  // throws what that throws, such as InvalidInput for 0 bytes.
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  // Gives a block, which must come from allocate() of this resource, back to the upstream resource. Does not throw.
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }

 private:
  MemoryResource& upstream_;
  Rule rule_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;
};

}  // namespace vectis::inline v0_1
