#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::cuda_hip {

namespace {

// Runs body(api) with the stream's context current.
template <class Body>
void on_stream(const VectisStream& stream, Body&& body) {
  const CurrentContext current(stream.owner.api, stream.owner.context.get());
  body(stream.owner.api);
}

}  // namespace

}  // namespace vectis::cuda_hip

namespace vectis::plugin {

using namespace cuda_hip;

void stream_create(VectisContext* context, VectisStream** stream) {
  create_object(*context, stream, &Api::StreamDestroy,
                [](const Api& api, StreamHandle* handle) { VECTIS_CALL(api, StreamCreate, handle, stream_flags); });
}

void stream_destroy(VectisStream* stream) noexcept {
  in_context(stream->owner, [&] {
    const Api& api = stream->owner.api;
    // Copies may still use the caller's memory, and a failed synchronize does not mean that they have ended: try twice.
    if (static_cast<int>(api.StreamSynchronize(stream->handle)) != 0) {
      static_cast<void>(api.StreamSynchronize(stream->handle));
    }
    static_cast<void>(api.StreamDestroy(stream->handle));
  });
  delete stream;
}

void stream_synchronize(VectisStream* stream) {
  on_stream(*stream, [&](const Api& api) { VECTIS_CALL(api, StreamSynchronize, stream->handle); });
}

void stream_wait_event(VectisStream* stream, VectisEvent* event) {
  on_stream(*stream, [&](const Api& api) { VECTIS_CALL(api, StreamWaitEvent, stream->handle, event->handle, 0); });
}

void copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes) {
  on_stream(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyHtoDAsync, offset_address(target->address, offset), copy_source(source), bytes,
                stream->handle);
  });
}

void copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes) {
  on_stream(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyDtoHAsync, target, offset_address(source->address, offset), bytes, stream->handle);
  });
}

void copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes) {
  on_stream(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyDtoDAsync, offset_address(target->address, target_offset),
                offset_address(source->address, source_offset), bytes, stream->handle);
  });
}

void fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  on_stream(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemsetD8Async, offset_address(target->address, offset), value, bytes, stream->handle);
  });
}

}  // namespace vectis::plugin
