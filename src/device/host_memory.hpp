// The bytes behind a HostMemory, and the copies that use them.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cores.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

// Host memory for copies, pinned where the backend offers it, with the last copy of each stream that uses it. The
// destructor waits for these copies, on any device of the Runtime, and frees the memory. Thread-safe.
class HostBlock {
 public:
  // Allocates `bytes` uninitialized bytes, at least 1, and registers them with the Runtime of `context`. Throws
  // std::bad_alloc when the host has no memory left, DeviceLost when the context is lost, Forked in a child process.
  HostBlock(std::shared_ptr<ContextCore> context, std::size_t bytes);
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  // Waits for the copies and frees the memory. In a child process the copies belong to the parent: waits for none.
  ~HostBlock();

  // Returns the first byte, valid as long as this object. Does not throw.
  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  // Returns the number of bytes. Does not throw.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Returns whether the memory is pinned. Does not throw.
  [[nodiscard]] bool pinned() const noexcept { return pageable_ == nullptr; }

  // Remembers that the last work enqueued on `stream` uses the memory; waits for that work when it cannot be
  // remembered. Call on the thread that uses the stream. Does not throw.
  void add_use(const StreamCore& stream) noexcept;

 private:
  // The last copy of one stream: the event behind it, which the next copy of that stream records again.
  struct Use {
    std::shared_ptr<StickyError> stream;  // identifies the stream, also after it was destroyed
    std::shared_ptr<EventCore> event;
  };
  EventCore& event_for(const StreamCore& stream);

  std::shared_ptr<ContextCore> context_;
  std::unique_ptr<std::byte[]> pageable_;
  std::byte* address_ = nullptr;
  std::size_t bytes_;
  std::mutex mutex_;
  std::vector<Use> uses_;  // guarded by mutex_
};

// Finds the HostBlock that an address belongs to. A service of the Runtime. Thread-safe.
class HostBlocks {
 public:
  explicit HostBlocks(Runtime& /*runtime*/) {}

  // Adds `block`, which must stay at its address until remove(). Throws std::bad_alloc when memory runs out.
  void add(HostBlock& block);
  // Removes `block`, which add() must have added. Does not throw.
  void remove(const HostBlock& block) noexcept;
  // Calls add_use(stream) of the block that contains `address`; does nothing when there is none. Call on the thread
  // that uses the stream. Does not throw.
  void add_use(const StreamCore& stream, const void* address) noexcept {
    if (count_.load(std::memory_order_acquire) > 0) find_and_add_use(stream, address);
  }

 private:
  void find_and_add_use(const StreamCore& stream, const void* address) noexcept;

  std::atomic<std::size_t> count_{0};  // of blocks: most programs have none, and their copies take no lock
  std::mutex mutex_;
  std::map<const void*, HostBlock*, std::less<>> blocks_;  // by first address; guarded by mutex_
};

}  // namespace vectis::inline v0_1::detail
