#include "memory/replay_players.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "memory/best_fit.hpp"
#include "memory/device_pool.hpp"

namespace vectis::inline v0_1::detail {

namespace {

class PoolPlayer final : public Player {
 public:
  PoolPlayer(Runtime& runtime, const DeviceContext& context, std::size_t slots)
      : pool_(std::make_shared<DevicePool>(runtime, std::make_unique<DeviceResource>(context),
                                           std::make_shared<Budget>(context.device().info().memory_bytes),
                                           without_timers())),
        blocks_(slots) {}
  ~PoolPlayer() override { give_all(); }

  [[nodiscard]] std::string name() const override { return "pool"; }
  void allocate(std::size_t slot, const MemoryRequest& request) override {
    blocks_[slot] = pool_->acquire(request, [] { return std::vector<Rung>{}; });
    live_ += blocks_[slot]->memory.bytes();
  }
  void release(std::size_t slot) override { give(blocks_[slot]); }
  void release_all() override { give_all(); }

  [[nodiscard]] std::uint64_t allocated_bytes() const override { return live_; }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return pool_->usage().peak_bytes; }
  [[nodiscard]] std::uint64_t device_allocations() const override { return pool_->stats().device_allocations; }

 private:
  // A replay is never idle, and the same log must always give the same peak.
  static PoolPolicy without_timers() {
    PoolPolicy policy;
    policy.trim_after = Duration::zero();
    return policy;
  }
  void give(PoolBlock*& block) {
    live_ -= block->memory.bytes();
    pool_->release(std::exchange(block, nullptr));
  }
  void give_all() {
    for (PoolBlock*& block : blocks_) {
      if (block != nullptr) give(block);
    }
  }

  std::shared_ptr<DevicePool> pool_;
  std::vector<PoolBlock*> blocks_;
  std::uint64_t live_ = 0;
};

// What the driver itself rounds up to cannot be seen: its buffers count as asked for.
class DevicePlayer final : public Player {
 public:
  DevicePlayer(const DeviceContext& context, std::size_t slots) : resource_(context), blocks_(slots) {}

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

// One device allocation of exactly the size that turns out to be needed: what no program can know beforehand.
class BestFitPlayer final : public Player {
 public:
  BestFitPlayer(std::uint64_t alignment, std::size_t slots) : arena_(alignment), offsets_(slots) {}

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
  BestFit arena_;
  std::vector<std::optional<std::uint64_t>> offsets_;
};

}  // namespace

std::vector<std::unique_ptr<Player>> make_players(Runtime& runtime, const DeviceContext& context, std::size_t slots) {
  std::vector<std::unique_ptr<Player>> players;
  players.push_back(std::make_unique<PoolPlayer>(runtime, context, slots));
  players.push_back(std::make_unique<DevicePlayer>(context, slots));
  players.push_back(std::make_unique<BestFitPlayer>(context.device().info().limits.memory_alignment, slots));
  return players;
}

}  // namespace vectis::inline v0_1::detail
