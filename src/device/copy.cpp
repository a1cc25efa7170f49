#include "vectis/device/copy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "device/call.hpp"
#include "device/cores.hpp"
#include "device/launch.hpp"
#include "device/observer.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view copy_between_op = "copy_between";
constexpr std::uint64_t staging_bytes = std::uint64_t{4} << 20U;

// A part of a copy that a stream takes or gives.
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
  const Event made(from.stream.context());
  from.stream.record(made);
  to.stream.wait(made);
  to.stream.copy_on_device(to.memory, to.offset, from.memory, from.offset, bytes);
  const Event copied(to.stream.context());
  to.stream.record(copied);
  from.stream.wait(copied);
}

// False when the backend has no way from device to device.
bool copy_from_peer(const CopyEnd& to, const CopyEnd& from, std::uint64_t bytes) {
  const detail::StreamCore& stream = *to.stream.core();
  detail::ContextCore& context = *stream.context;
  detail::check_usable(copy_between_op, *from.stream.core()->context);
  const auto offer = [&] {
    return detail::call_optional(copy_between_op, context, context.slots().copy_from_peer, stream.handle,
                                 to.memory.core()->handle, to.offset, from.stream.core()->handle,
                                 from.memory.core()->handle, from.offset, bytes);
  };
  if (auto* observer = detail::observer_of(stream)) [[unlikely]] {
    return detail::give_observed(*observer, stream, {detail::WorkKind::copy_on_device, "copy_from_peer", bytes}, offer);
  }
  return offer();
}

// Waits for both streams before the staging memory goes, also when one of them failed.
class StagingGuard {
 public:
  StagingGuard(const Stream& to, const Stream& from) : streams_{to.core(), from.core()} {}
  StagingGuard(const StagingGuard&) = delete;
  StagingGuard& operator=(const StagingGuard&) = delete;
  ~StagingGuard() {
    if (done_) return;
    for (const detail::StreamCore* stream : streams_) {
      detail::SlotMessage ignored;
      static_cast<void>(stream->context->slots().stream_synchronize(stream->handle, ignored.get()));
    }
  }
  void done() noexcept { done_ = true; }

 private:
  std::array<const detail::StreamCore*, 2> streams_;
  bool done_ = false;
};

// Two blocks take turns: while one is written to the target the other is read from the source.
void copy_staged(const CopyEnd& to, const CopyEnd& from, std::uint64_t bytes) {
  struct Block {
    std::vector<std::byte> bytes;
    Event written;
  };
  const std::uint64_t block_bytes = std::min(bytes, staging_bytes);
  std::array blocks = {Block{std::vector<std::byte>(block_bytes), Event(to.stream.context())},
                       Block{std::vector<std::byte>(block_bytes), Event(to.stream.context())}};
  StagingGuard guard(to.stream, from.stream);
  for (std::uint64_t done = 0, turn = 0; done < bytes; done += block_bytes, ++turn) {
    Block& block = blocks[turn % blocks.size()];
    const std::span part = std::span(block.bytes).first(std::min(block_bytes, bytes - done));
    block.written.synchronize();
    from.stream.copy_to_host(part, from.memory, from.offset + done);
    from.stream.synchronize();
    to.stream.copy_to_device(to.memory, to.offset + done, part);
    to.stream.record(block.written);
  }
  to.stream.synchronize();
  guard.done();
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

}  // namespace vectis::inline v0_1
