#include "vectis/device/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "device/call.hpp"
#include "device/cores.hpp"
#include "device/launch.hpp"
#include "device/observer.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view copy_between_op = "copy_between";
constexpr std::uint64_t block_bytes_max = std::uint64_t{4} << 20U;  // of one staging block
constexpr std::uint64_t block_count = 2;                            // double buffering

// One side of a copy: the stream, the memory and the offset in it.
struct CopyEnd {
  Stream& stream;
  const DeviceMemory& memory;
  std::uint64_t offset;
};

void check_end(const CopyEnd& end, std::uint64_t bytes) {
  const detail::StreamCore& stream = *end.stream.core();
  stream.sticky->rethrow();
  detail::check_same_context(copy_between_op, *stream.context, *end.memory.core()->context);
  detail::check_range(copy_between_op, *end.memory.core(), end.offset, bytes);
}

void copy_on_one_device(const CopyEnd& to, const CopyEnd& from, std::uint64_t bytes) {
  if (&to.stream == &from.stream) {
    return to.stream.copy_on_device(to.memory, to.offset, from.memory, from.offset, bytes);
  }
  const Event source_ready(from.stream.context());
  from.stream.record(source_ready);
  to.stream.wait(source_ready);
  to.stream.copy_on_device(to.memory, to.offset, from.memory, from.offset, bytes);
  const Event copied(to.stream.context());
  to.stream.record(copied);
  from.stream.wait(copied);
}

// Copies from device to device (peer-to-peer); false when the backend cannot.
bool copy_from_peer(const CopyEnd& to, const CopyEnd& from, std::uint64_t bytes) {
  const detail::StreamCore& stream = *to.stream.core();
  detail::ContextCore& context = *stream.context;
  detail::check_usable(copy_between_op, *from.stream.core()->context);
  const auto call_slot = [&] {
    return detail::call_optional(copy_between_op, context, context.slots().copy_from_peer, stream.handle,
                                 to.memory.core()->handle, to.offset, from.stream.core()->handle,
                                 from.memory.core()->handle, from.offset, bytes);
  };
  if (auto* observer = detail::observer_of(stream)) [[unlikely]] {
    return detail::call_observed(*observer, stream, {detail::WorkKind::copy_on_device, "copy_from_peer", bytes},
                                 call_slot);
  }
  return call_slot();
}

// The host blocks of a staged copy: pinned where one of the two backends offers pinned memory, which its context then
// caches for the next copy. The destructor waits for both streams before the memory is reused or freed, also after a
// failure.
class Staging {
 public:
  Staging(const Stream& to, const Stream& from, std::uint64_t bytes)
      : streams_{to.core(), from.core()}, block_bytes_(std::min(bytes, block_bytes_max)) {
    for (const detail::StreamCore* stream : streams_) {
      detail::ContextCore& context = *stream->context;
      memory_ = context.staging.exchange(nullptr);
      if (memory_ == nullptr) memory_ = detail::allocate_pinned(context, block_count * block_bytes_max);
      if (memory_ == nullptr) continue;
      pinned_by_ = &context;
      return;
    }
    pageable_.resize(block_count * block_bytes_);
    memory_ = pageable_.data();
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    for (const detail::StreamCore* stream : streams_) {
      if (!done_) detail::drain(*stream);
    }
    if (pinned_by_ == nullptr) return;
    if (std::byte* other = pinned_by_->staging.exchange(memory_)) detail::free_pinned(*pinned_by_, other);
  }

  [[nodiscard]] std::uint64_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::span<std::byte> block(std::uint64_t turn, std::uint64_t bytes) const noexcept {
    return {memory_ + turn % block_count * block_bytes_, bytes};
  }
  // Both streams have finished with the blocks: the destructor need not wait.
  void done() noexcept { done_ = true; }

 private:
  std::array<const detail::StreamCore*, 2> streams_;
  std::uint64_t block_bytes_;
  std::vector<std::byte> pageable_;
  detail::ContextCore* pinned_by_ = nullptr;
  std::byte* memory_ = nullptr;
  bool done_ = false;
};

// Double buffering: while one block is written to the target, the other is read from the source.
void copy_staged(const CopyEnd& to, const CopyEnd& from, std::uint64_t bytes) {
  const std::array<Event, block_count> written = {Event(to.stream.context()), Event(to.stream.context())};
  Staging staging(to.stream, from.stream, bytes);
  for (std::uint64_t done = 0, turn = 0; done < bytes; done += staging.block_bytes(), ++turn) {
    const std::span part = staging.block(turn, std::min(staging.block_bytes(), bytes - done));
    written[turn % block_count].synchronize();
    from.stream.copy_to_host(part, from.memory, from.offset + done);
    from.stream.synchronize();
    to.stream.copy_to_device(to.memory, to.offset + done, part);
    to.stream.record(written[turn % block_count]);
  }
  to.stream.synchronize();
  staging.done();
}

}  // namespace

CopyRoute copy_between(Stream& to, const DeviceMemory& target, std::uint64_t target_offset, Stream& from,
                       const DeviceMemory& source, std::uint64_t source_offset, std::uint64_t bytes) {
  const CopyEnd target_end{to, target, target_offset};
  const CopyEnd source_end{from, source, source_offset};
  check_end(target_end, bytes);
  check_end(source_end, bytes);
  const detail::ContextCore& to_context = *to.core()->context;
  const detail::ContextCore& from_context = *from.core()->context;
  if (&to_context == &from_context) {
    copy_on_one_device(target_end, source_end, bytes);
    return CopyRoute::on_device;
  }
  const bool one_backend = to_context.device->backend == from_context.device->backend;
  if (bytes > 0 && one_backend && copy_from_peer(target_end, source_end, bytes)) return CopyRoute::peer;
  if (bytes > 0) copy_staged(target_end, source_end, bytes);
  return CopyRoute::staged;
}

std::byte* detail::allocate_pinned(ContextCore& context, std::uint64_t bytes) {
  if (context.slots().host_allocate == nullptr || context.slots().host_free == nullptr) return nullptr;
  void* address = nullptr;
  try {
    if (!call_optional("host_allocate", context, context.slots().host_allocate, context.handle, bytes, &address)) {
      return nullptr;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::allocation) throw;
  }
  return static_cast<std::byte*>(address);
}

void detail::free_pinned(const ContextCore& context, std::byte* pinned) noexcept {
  if (!context.forked()) context.slots().host_free(context.handle, pinned);
}

}  // namespace vectis::inline v0_1
