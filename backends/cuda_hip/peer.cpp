#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::cuda_hip {

namespace {

// Lets the device of `to` access the memory of `from`. Called at each copy: the permission ends with either primary
// context, which other users of the driver may release. Throws UNSUPPORTED when the devices have no peer access.
void enable_peer_access(const VectisContext& to, const VectisContext& from) {
  const Api& api = to.api;
  int can_access = 0;
  VECTIS_CALL(api, DeviceCanAccessPeer, &can_access, to.device.id, from.device.id);
  if (can_access == 0) throw Failure(VECTIS_UNSUPPORTED, "the two devices have no peer access to each other's memory");
  const CurrentContext current(api, to.context.get());
  const Code code = api.EnablePeerAccess(from.context.get(), 0);
  switch (static_cast<int>(code)) {
    case code_peer_enabled_already:
      return;
    case code_peer_unsupported:
    case code_too_many_peers:
      throw failed_call(api, symbol_of_EnablePeerAccess, code, VECTIS_UNSUPPORTED);
    default:
      check(api, code, symbol_of_EnablePeerAccess);
  }
}

// An event at the end of a stream's current work, which a stream of another context can wait for.
class StreamBarrier {
 public:
  explicit StreamBarrier(const VectisStream& stream) : event_(record(stream), stream.owner.api.EventDestroy) {}

  void block(const VectisStream& stream) const {
    const Api& api = stream.owner.api;
    const CurrentContext current(api, stream.owner.context.get());
    VECTIS_CALL(api, StreamWaitEvent, stream.handle, event_.get(), 0);
  }

 private:
  static EventHandle record(const VectisStream& stream) {
    const Api& api = stream.owner.api;
    const CurrentContext current(api, stream.owner.context.get());
    EventHandle event{};
    VECTIS_CALL(api, EventCreate, &event, event_without_timing);
    UniqueHandle owner(event, api.EventDestroy);
    VECTIS_CALL(api, EventRecord, event, stream.handle);
    return owner.release();
  }

  UniqueHandle<EventHandle, decltype(Api::EventDestroy)> event_;
};

void copy_between(const VectisStream& stream, Address target, const VectisContext& from, Address source,
                  std::uint64_t bytes) {
  const VectisContext& to = stream.owner;
  const CurrentContext current(to.api, to.context.get());
  if (to.device.id == from.device.id) {
    VECTIS_CALL(to.api, MemcpyDtoDAsync, target, source, bytes, stream.handle);
  } else {
    VECTIS_CALL(to.api, MemcpyPeerAsync, target, to.context.get(), source, from.context.get(), bytes, stream.handle);
  }
}

}  // namespace

}  // namespace vectis::cuda_hip

namespace vectis::plugin {

using namespace cuda_hip;

void copy_from_peer(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                    VectisStream* source_stream, VectisMemory* source, std::uint64_t source_offset,
                    std::uint64_t bytes) {
  const VectisContext& from = source_stream->owner;
  if (stream->owner.device.id != from.device.id) enable_peer_access(stream->owner, from);
  stream->busy = true;
  source_stream->busy = true;
  StreamBarrier(*source_stream).block(*stream);
  copy_between(*stream, offset_address(target->address, target_offset), from,
               offset_address(source->address, source_offset), bytes);
  try {
    StreamBarrier(*stream).block(*source_stream);
  } catch (const Failure&) {
    // Later work of the source stream would not wait for the copy, so the copy must end first.
    in_context(stream->owner, [&] { static_cast<void>(stream->owner.api.StreamSynchronize(stream->handle)); });
    throw;
  }
}

}  // namespace vectis::plugin
