#include <utility>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::cuda_hip {

namespace {

// Runs body(api), which enqueues work, with the stream's context current.
template <class Body>
void enqueue_on(VectisStream& stream, Body&& body) {
  const CurrentContext current(stream.owner.api, stream.owner.context.get());
  stream.busy = true;
  body(stream.owner.api);
}

// Copies may still use the caller's memory, and a failed synchronize does not mean that they have ended: tries twice.
void finish(const Api& api, const VectisStream& stream) {
  if (static_cast<int>(api.StreamSynchronize(stream.handle)) != 0) {
    static_cast<void>(api.StreamSynchronize(stream.handle));
  }
}

}  // namespace

void LiveStreams::wait(const Api& api) noexcept {
  const std::lock_guard lock(mutex_);
  for (const VectisStream* stream : streams_) {
    if (stream->busy) finish(api, *stream);
  }
}

}  // namespace vectis::cuda_hip

namespace vectis::plugin {

using namespace cuda_hip;

void stream_create(VectisContext* context, VectisStream** stream) {
  VectisStream* created = nullptr;
  create_object(*context, &created, &Api::StreamDestroy,
                [](const Api& api, StreamHandle* handle) { VECTIS_CALL(api, StreamCreate, handle, stream_flags); });
  try {
    context->streams.add(*created);
  } catch (...) {
    stream_destroy(created);
    throw;
  }
  *stream = created;
}

void stream_destroy(VectisStream* stream) noexcept {
  in_context(stream->owner, [&] {
    const Api& api = stream->owner.api;
    finish(api, *stream);
    stream->owner.streams.remove(*stream);  // not earlier: until then a free waits for the stream's work
    if (stream->workspace.bytes != 0) static_cast<void>(api.MemFree(std::exchange(stream->workspace, {}).address));
    static_cast<void>(api.StreamDestroy(stream->handle));
  });
  stream->owner.streams.remove(*stream);
  delete stream;
}

void stream_synchronize(VectisStream* stream) {
  const Api& api = stream->owner.api;
  const CurrentContext current(api, stream->owner.context.get());
  VECTIS_CALL(api, StreamSynchronize, stream->handle);
  stream->busy = false;
}

void stream_wait_event(VectisStream* stream, VectisEvent* event) {
  enqueue_on(*stream, [&](const Api& api) { VECTIS_CALL(api, StreamWaitEvent, stream->handle, event->handle, 0); });
}

void copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes) {
  enqueue_on(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyHtoDAsync, offset_address(target->address, offset), copy_source(source), bytes,
                stream->handle);
  });
}

void copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes) {
  enqueue_on(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyDtoHAsync, target, offset_address(source->address, offset), bytes, stream->handle);
  });
}

void copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes) {
  enqueue_on(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemcpyDtoDAsync, offset_address(target->address, target_offset),
                offset_address(source->address, source_offset), bytes, stream->handle);
  });
}

void fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  enqueue_on(*stream, [&](const Api& api) {
    VECTIS_CALL(api, MemsetD8Async, offset_address(target->address, offset), value, bytes, stream->handle);
  });
}

}  // namespace vectis::plugin
