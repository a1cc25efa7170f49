#include <memory>

#include "current.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

// The body of a slot that needs the stream's context.
template <class Body>
VectisStatus on_stream(VectisStream& stream, VectisMessage* message, Body&& body) noexcept {
  return guarded(message, [&] {
    const Current current(stream.owner.api, stream.owner.context.get());
    body(stream.owner.api);
    return VECTIS_OK;
  });
}

}  // namespace

VectisStatus stream_create(VectisContext* context, VectisStream** stream, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = context->api;
    const Current current(api, context->context.get());
    StreamHandle handle{};
    VECTIS_CALL(api, StreamCreate, &handle, stream_beside_others);
    Guard made(handle, api.StreamDestroy);
    *stream = std::make_unique<VectisStream>(*context, handle).release();
    made.give();
    return VECTIS_OK;
  });
}

void stream_destroy(VectisStream* stream) noexcept {
  in_context(stream->owner, [&] {
    const Api& api = stream->owner.api;
    // Copies may still use the caller's memory. A wait that was refused says nothing about the work.
    if (static_cast<int>(api.StreamSynchronize(stream->handle)) != 0) {
      static_cast<void>(api.StreamSynchronize(stream->handle));
    }
    static_cast<void>(api.StreamDestroy(stream->handle));
  });
  delete stream;
}

VectisStatus stream_synchronize(VectisStream* stream, VectisMessage* message) noexcept {
  return on_stream(*stream, message, [&](const Api& api) { VECTIS_CALL(api, StreamSynchronize, stream->handle); });
}

VectisStatus stream_wait_event(VectisStream* stream, VectisEvent* event, VectisMessage* message) noexcept {
  return on_stream(*stream, message,
                   [&](const Api& api) { VECTIS_CALL(api, StreamWaitEvent, stream->handle, event->handle, 0); });
}

VectisStatus copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                            std::uint64_t bytes, VectisMessage* message) noexcept {
  return on_stream(*stream, message, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyHtoDAsync, advanced(target->address, offset), readable(source), bytes, stream->handle);
  });
}

VectisStatus copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset,
                          std::uint64_t bytes, VectisMessage* message) noexcept {
  return on_stream(*stream, message, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyDtoHAsync, target, advanced(source->address, offset), bytes, stream->handle);
  });
}

VectisStatus copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                            VectisMemory* source, std::uint64_t source_offset, std::uint64_t bytes,
                            VectisMessage* message) noexcept {
  return on_stream(*stream, message, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyDtoDAsync, advanced(target->address, target_offset),
                advanced(source->address, source_offset), bytes, stream->handle);
  });
}

VectisStatus fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes,
                  std::uint8_t value, VectisMessage* message) noexcept {
  return on_stream(*stream, message, [&](const Api& api) {
    VECTIS_CALL(api, MemsetD8Async, advanced(target->address, offset), value, bytes, stream->handle);
  });
}

}  // namespace vectis::cuda_hip
