#include <memory>
#include <string>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace {

// Kernels reach packed elements through the 32-bit words they lie in, and WebGPU binds and copies whole words.
std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

vectis::webgpu::BoundBuffer VectisMemory::bound() const noexcept { return {buffer.get(), offset, whole_words(bytes)}; }

namespace vectis::webgpu {

VectisStatus memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory,
                             VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::uint64_t limit = context->gpu.limits().maxBufferSize;
    if (bytes > limit) {
      throw Failure(VECTIS_ALLOCATION, "a buffer of " + std::to_string(bytes) +
                                           " bytes is over the device's limit of " + std::to_string(limit));
    }
    const std::uint64_t size = whole_words(bytes);
    constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
    auto buffer = std::make_shared<const DeviceBuffer>(DeviceBuffer{context->gpu.make_buffer(size, usage), size});
    *memory = new VectisMemory{*context, std::move(buffer), 0, bytes, false};
    return VECTIS_OK;
  });
}

VectisStatus memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice,
                          VectisMessage* message) noexcept {
  return guarded(message, [&] {
    *slice = new VectisMemory{memory->context, memory->buffer, memory->offset + offset, bytes, true};
    return VECTIS_OK;
  });
}

// wgpu keeps a released buffer until the commands that use it are done.
void memory_free(VectisContext* context, VectisMemory* memory) noexcept {
  if (!memory->slice) context->groups.forget(memory->buffer->serial);
  delete memory;
}

}  // namespace vectis::webgpu
