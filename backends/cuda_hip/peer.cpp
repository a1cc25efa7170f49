#include "current.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

// Lets the device of `to` read the memory of `from`'s. Asked anew at each copy: what was allowed once ends with either
// driver's context, which others may hold or give up.
void need_reach(const VectisContext& to, const VectisContext& from) {
  const Api& api = to.api;
  int reaches = 0;
  VECTIS_CALL(api, DeviceCanAccessPeer, &reaches, to.device.id, from.device.id);
  if (reaches == 0) throw Failure(VECTIS_UNSUPPORTED, "the two devices do not reach each other's memory");
  const Current current(api, to.context.get());
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

// The end of a stream's present work, for another stream to wait for, which may be of another context.
class EndOfWork {
 public:
  explicit EndOfWork(const VectisStream& stream) : event_(recorded(stream), stream.owner.api.EventDestroy) {}

  void hold_back(const VectisStream& stream) const {
    const Api& api = stream.owner.api;
    const Current current(api, stream.owner.context.get());
    VECTIS_CALL(api, StreamWaitEvent, stream.handle, event_.get(), 0);
  }

 private:
  static EventHandle recorded(const VectisStream& stream) {
    const Api& api = stream.owner.api;
    const Current current(api, stream.owner.context.get());
    EventHandle event{};
    VECTIS_CALL(api, EventCreate, &event, event_without_time);
    Guard made(event, api.EventDestroy);
    VECTIS_CALL(api, EventRecord, event, stream.handle);
    return made.give();
  }

  Guard<EventHandle, decltype(Api::EventDestroy)> event_;
};

void copy(const VectisStream& stream, Address target, const VectisContext& from, Address source, std::uint64_t bytes) {
  const VectisContext& to = stream.owner;
  const Current current(to.api, to.context.get());
  if (to.device.id == from.device.id) {
    VECTIS_CALL(to.api, MemcpyDtoDAsync, target, source, bytes, stream.handle);
  } else {
    VECTIS_CALL(to.api, MemcpyPeerAsync, target, to.context.get(), source, from.context.get(), bytes, stream.handle);
  }
}

}  // namespace

VectisStatus copy_from_peer(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                            VectisStream* source_stream, VectisMemory* source, std::uint64_t source_offset,
                            std::uint64_t bytes, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const VectisContext& from = source_stream->owner;
    if (stream->owner.device.id != from.device.id) need_reach(stream->owner, from);
    EndOfWork(*source_stream).hold_back(*stream);
    copy(*stream, advanced(target->address, target_offset), from, advanced(source->address, source_offset), bytes);
    try {
      EndOfWork(*stream).hold_back(*source_stream);
    } catch (const Failure&) {
      // The source's stream goes on without waiting: the copy must not be under way then.
      in_context(stream->owner, [&] { static_cast<void>(stream->owner.api.StreamSynchronize(stream->handle)); });
      throw;
    }
    return VECTIS_OK;
  });
}

}  // namespace vectis::cuda_hip
