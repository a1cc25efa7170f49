#include "replay/allocators.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "replay/best_fit.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::app {

namespace {

// A pool of its own, limited only by the device's memory.
class PoolAllocator final : public ReplayAllocator {
 public:
  PoolAllocator(Runtime& runtime, const Device& device, std::size_t slots)
      : device_(device.id()), pool_(runtime), buffers_(slots) {
    pool_.set_max_pool_size(device_, device.info().memory_bytes);
  }

  [[nodiscard]] std::string name() const override { return "pool"; }
  void allocate(std::size_t slot, const MemoryRequest& request) override {
    const BufferOptions options{.stream = request.stream, .context = request.context};
    const std::size_t element = size_of(request.precision);
    buffers_[slot] = request.bytes % element == 0
                         ? pool_.get_managed_buffer(device_, request.bytes / element, request.precision, options)
                         : pool_.allocate_bytes(device_, request.bytes, options);
    live_ += buffers_[slot].memory().bytes();
  }
  void release(std::size_t slot) override {
    live_ -= buffers_[slot].memory().bytes();
    buffers_[slot].release();
  }
  void release_all() override {
    for (ManagedBuffer& buffer : buffers_) buffer.release();
    live_ = 0;
  }

  [[nodiscard]] std::uint64_t allocated_bytes() const override { return live_; }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return pool_.memory_usage(device_)->peak_bytes; }
  [[nodiscard]] std::uint64_t device_allocations() const override {
    return pool_.get_memory_stats(device_)->device_allocations;
  }

 private:
  const int device_;
  MemoryPool pool_;
  std::vector<ManagedBuffer> buffers_;  // destroyed before the pool
  std::uint64_t live_ = 0;
};

// One driver allocation per buffer. The driver's own rounding is invisible: buffers count as requested.
class DeviceAllocator final : public ReplayAllocator {
 public:
  DeviceAllocator(const DeviceContext& context, std::size_t slots) : resource_(context), blocks_(slots) {}

  [[nodiscard]] std::string name() const override { return "device"; }
  void allocate(std::size_t slot, const MemoryRequest& request) override {
    blocks_[slot] = resource_.allocate(request);
    live_ += request.bytes;
    peak_ = std::max(peak_, live_);
    ++allocations_;
  }
  void release(std::size_t slot) override {
    live_ -= blocks_[slot]->bytes;
    resource_.deallocate(*std::exchange(blocks_[slot], std::nullopt), nullptr);
  }
  void release_all() override {
    for (std::size_t slot = 0; slot < blocks_.size(); ++slot) {
      if (blocks_[slot]) release(slot);
    }
  }

  [[nodiscard]] std::uint64_t allocated_bytes() const override { return live_; }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return peak_; }
  [[nodiscard]] std::uint64_t device_allocations() const override { return allocations_; }

 private:
  DeviceResource resource_;
  std::vector<std::optional<MemoryBlock>> blocks_;
  std::uint64_t live_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t allocations_ = 0;
};

// An arena of exactly the size the log turns out to need: a baseline, since no program knows that size beforehand.
class BestFitAllocator final : public ReplayAllocator {
 public:
  BestFitAllocator(std::uint64_t alignment, std::size_t slots) : arena_(alignment), offsets_(slots) {}

  [[nodiscard]] std::string name() const override { return "best fit"; }
  void allocate(std::size_t slot, const MemoryRequest& request) override {
    offsets_[slot] = arena_.allocate(request.bytes);
  }
  void release(std::size_t slot) override { arena_.release(*std::exchange(offsets_[slot], std::nullopt)); }
  void release_all() override {
    for (std::size_t slot = 0; slot < offsets_.size(); ++slot) {
      if (offsets_[slot]) release(slot);
    }
  }

  [[nodiscard]] std::uint64_t allocated_bytes() const override { return arena_.in_use(); }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return arena_.peak(); }
  [[nodiscard]] std::uint64_t device_allocations() const override { return arena_.peak() == 0 ? 0 : 1; }

 private:
  BestFitArena arena_;
  std::vector<std::optional<std::uint64_t>> offsets_;
};

}  // namespace

std::vector<std::unique_ptr<ReplayAllocator>> make_allocators(Runtime& runtime, const DeviceContext& context,
                                                              std::size_t slots) {
  const Device device = context.device();
  std::vector<std::unique_ptr<ReplayAllocator>> allocators;
  allocators.push_back(std::make_unique<PoolAllocator>(runtime, device, slots));
  allocators.push_back(std::make_unique<DeviceAllocator>(context, slots));
  allocators.push_back(std::make_unique<BestFitAllocator>(device.info().limits.memory_alignment, slots));
  return allocators;
}

}  // namespace vectis::app
