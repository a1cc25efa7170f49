#include "device/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <utility>

#include "device/call.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/transfer.hpp"

namespace vectis::inline v0_1 {

namespace detail {

namespace {

constexpr std::size_t prune_above = 8;  // streams; with more, those whose copies have finished are forgotten

// These call the slots themselves: a copy may still run when its context is lost, and its error is that of its stream.
bool has_finished(const EventCore& event, StickyError& stream) noexcept {
  SlotMessage message;
  const VectisStatus status = event.context->slots().event_query(event.handle, message.get());
  keep_failure(*event.context, stream, status, message);
  return status == VECTIS_OK;
}

void synchronize(const EventCore& event, StickyError& stream) noexcept {
  SlotMessage message;
  const VectisStatus status = event.context->slots().event_synchronize(event.handle, message.get());
  keep_failure(*event.context, stream, status, message);
}

HostBlocks& blocks_of(const ContextCore& context) noexcept { return context.device->backend->blocks; }

}  // namespace

HostBlocks& host_blocks(Runtime& runtime) { return runtime.service<HostBlocks>(); }

HostBlock::HostBlock(std::shared_ptr<ContextCore> context, std::size_t bytes)
    : context_(std::move(context)), bytes_(bytes) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();  // no object is larger, and not every allocator checks it
  address_ = allocate_pinned(*context_, bytes);
  if (address_ == nullptr) {
    pageable_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    address_ = pageable_.get();
  }
  try {
    blocks_of(*context_).add(*this);
  } catch (...) {
    if (pinned()) free_pinned(*context_, address_);
    throw;
  }
}

HostBlock::~HostBlock() {
  if (!context_->forked()) {
    blocks_of(*context_).remove(*this);
    for (const Use& use : uses_) synchronize(*use.event, *use.stream);
  }
  if (pinned()) free_pinned(*context_, address_);
}

EventCore& HostBlock::event_for(const StreamCore& stream) {
  const auto found = std::ranges::find(uses_, stream.sticky, &Use::stream);
  if (found != uses_.end()) return *found->event;
  if (uses_.size() >= prune_above) {
    std::erase_if(uses_, [](const Use& use) { return has_finished(*use.event, *use.stream); });
  }
  uses_.push_back({stream.sticky, Event(DeviceContext(stream.context)).core()});
  return *uses_.back().event;
}

void HostBlock::add_use(const StreamCore& stream) noexcept {
  if (pinned() && stream.context == context_) return;  // host_free waits for the work of its own context
  const std::lock_guard lock(mutex_);
  try {
    record_event(stream, event_for(stream));
  } catch (...) {
    drain(stream);
  }
}

void HostBlocks::add(HostBlock& block) {
  const std::lock_guard lock(mutex_);
  blocks_.emplace(block.address(), &block);
  count_.store(blocks_.size(), std::memory_order_release);
}

void HostBlocks::remove(const HostBlock& block) noexcept {
  const std::lock_guard lock(mutex_);
  blocks_.erase(block.address());
  count_.store(blocks_.size(), std::memory_order_release);
}

void HostBlocks::find_and_add_use(const StreamCore& stream, const void* address) noexcept {
  HostBlock* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return;
    HostBlock& before = *std::prev(next)->second;
    const void* const end = before.address() + before.bytes();
    if (std::less<>{}(address, end)) block = &before;
  }
  // Without the lock: the caller passed bytes of this block to a copy, so that the block outlives this call.
  if (block != nullptr) block->add_use(stream);
}

}  // namespace detail

HostMemory::HostMemory(const DeviceContext& context, std::size_t bytes) {
  if (bytes == 0) return;
  try {
    block_ = std::make_unique<detail::HostBlock>(context.core(), bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::allocation, "host_memory",
                fmt::format("the host is out of memory for {} bytes; request less or free memory", bytes));
  }
  address_ = block_->address();
  size_ = bytes;
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : block_(std::move(other.block_)),
      address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  HostMemory taken(std::move(other));
  std::swap(block_, taken.block_);
  std::swap(address_, taken.address_);
  std::swap(size_, taken.size_);
  return *this;
}

HostMemory::~HostMemory() = default;

bool HostMemory::pinned() const noexcept { return block_ != nullptr && block_->pinned(); }

}  // namespace vectis::inline v0_1
