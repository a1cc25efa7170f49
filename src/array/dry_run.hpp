// Evaluation without computing: the engine takes and releases the memory of arrays in its own order, as numbers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "array/node.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::detail {
class DevicePool;
}

namespace vectis::inline v0_1::array {

// What memory is for: a number that the user of a DryRun chooses.
using MemoryUse = std::size_t;

// Blocks that are taken and given back, and the moment at which most bytes are taken. Thread-safe.
class MemoryLedger {
 public:
  // Returns the number of a new block. Throws InvalidInput when the bytes of all blocks exceed 2^62.
  std::size_t take(std::uint64_t bytes, MemoryUse use);
  void give(std::size_t block) noexcept;
  // Says, also of a block that was given back, what it is for.
  void set_use(std::size_t block, MemoryUse use);

  // Returns the bytes of each of `uses` uses at the moment of the peak; their sum is the peak.
  [[nodiscard]] std::vector<std::uint64_t> peak(std::size_t uses) const;

 private:
  struct Block {
    std::uint64_t bytes;
    MemoryUse use;
  };
  struct Event {
    std::size_t block;
    bool is_taken;
  };

  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<Event> events_;
  std::uint64_t taken_ = 0;
  std::uint64_t peak_ = 0;
  std::size_t events_at_peak_ = 0;
};

// While it exists, evaluations of its thread compute nothing: they run through the same steps in the same order, but
// storages have no memory, and those of one device are counted in a ledger as its pool would round them. An element
// that is read is 1. Arrays that the program recorded before are computed as always. Afterwards, arrays without memory
// that still exist throw InvalidInput when their value is needed. One at a time for each thread.
//
//   DryRun run(device);
//   const Tensor x = run.stand_in({1024, 1024}, DType::float32, device, weights);
//   matmul(x, x).eval();
//   run.ledger().peak(2)
class DryRun {
 public:
  // Throws InvalidInput when this thread runs one, and what opening the device throws.
  explicit DryRun(const Device& counted);
  ~DryRun();
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  // Returns the dry run of this thread; null: evaluations compute.
  [[nodiscard]] static DryRun* current() noexcept;
  // Lets evaluations of this thread compute while it exists.
  class Pause {
   public:
    Pause() noexcept;
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    DryRun* paused_;
  };

  // Returns an array with a value on `device`, whose memory is for `use`.
  [[nodiscard]] Tensor stand_in(const Shape& shape, DType type, const Device& device, MemoryUse use);
  // Returns an array with a value that is in the host's memory beside the pool, as that of other libraries.
  [[nodiscard]] Tensor stand_in_beside_pool(const Shape& shape, DType type);
  // Says what the values of operations are for that are recorded from now on.
  void begin_use(MemoryUse use);
  // Says what the values of arrays are for that have one; nothing of others.
  void set_use(std::span<const Tensor> tensors, MemoryUse use);
  // Sets what memory is for that only an operation needs, while it runs.
  void set_use_of_workspaces(MemoryUse use) noexcept { workspace_use_ = use; }
  [[nodiscard]] const MemoryLedger& ledger() const noexcept { return *ledger_; }
  // Returns the bytes of the largest storage.
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }

  // --- For the engine ----------------------------------------------------------------------------------------------

  // Returns whether the node was recorded before the dry run.
  [[nodiscard]] bool is_older(const Node& node) const noexcept { return node.number <= first_number_; }
  // Gives a node, or the outputs of a group, storage, and takes what computing them would take meanwhile.
  void compute(Node& node);
  void compute_map(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs);

  // --- For primitives ----------------------------------------------------------------------------------------------

  // Gives `node` the storage of its elements in row-major order.
  void allocate(Node& node);
  // Returns storage that an operation needs while it runs.
  [[nodiscard]] std::shared_ptr<Storage> workspace(const Lane& lane, std::uint64_t bytes);
  // Returns the copy that contiguous_data() makes of a node whose elements are not in row-major order; else null.
  [[nodiscard]] std::shared_ptr<Storage> copy_unless_contiguous(const Node& node);

 private:
  // Storage of arrays that were made otherwise than by this dry run.
  struct Found {
    std::weak_ptr<const Storage> storage;
    std::size_t block;
  };

  std::shared_ptr<Storage> allocate(const Lane& lane, std::uint64_t bytes, MemoryUse use);
  [[nodiscard]] MemoryUse use_of(const Node& node) const noexcept;
  void count_inputs(const Node& node);
  void release_found();

  Lane& lane_;
  std::shared_ptr<detail::DevicePool> pool_;
  std::shared_ptr<MemoryLedger> ledger_;
  std::uint64_t first_number_;  // of the node recorded last before
  struct Beginning {
    std::uint64_t number;
    MemoryUse use;
  };
  std::vector<Beginning> uses_;  // in increasing order
  MemoryUse workspace_use_ = 0;
  std::uint64_t largest_ = 0;
  std::vector<std::weak_ptr<Node>> computed_;
  std::vector<Found> found_;
};

// Returns whether the elements have no memory, since a dry run made them.
[[nodiscard]] inline bool is_without_memory(const Storage& storage) noexcept {
  return storage.host == nullptr && !storage.buffer;
}
// Returns whether the elements are in memory of the pool, or would be.
[[nodiscard]] inline bool is_in_pool(const Storage& storage) noexcept {
  return storage.buffer || (is_without_memory(storage) && storage.owner != nullptr);
}

}  // namespace vectis::inline v0_1::array
