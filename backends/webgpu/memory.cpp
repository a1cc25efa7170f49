// Memory, and copies between it and the host.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::uint64_t word = 4;  // bytes: WebGPU copies whole words

// Writes host bytes into a part of one word and leaves its other bytes.
void write_partial_word(VectisStream& stream, const DeviceBuffer& target, std::uint64_t offset, const std::byte* source,
                        std::uint64_t bytes) {
  std::uint32_t pattern = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&pattern) + offset % word, source, bytes);
  stream.context.byte_kernels.fill(stream.recorder, target, offset, bytes, pattern);
}

// Whole words are copied by the queue, partial words at both ends by a kernel.
void write(VectisStream& stream, const DeviceBuffer& target, std::uint64_t offset, const std::byte* source,
           std::uint64_t bytes) {
  if (const std::uint64_t head = std::min(bytes, (word - offset % word) % word); head > 0) {
    write_partial_word(stream, target, offset, source, head);
    offset += head;
    source += head;
    bytes -= head;
  }
  if (const std::uint64_t body = bytes / word * word; body > 0) {
    stream.recorder.write(target, offset, source, body);
    offset += body;
    source += body;
    bytes -= body;
  }
  if (bytes > 0) write_partial_word(stream, target, offset, source, bytes);
}

// A staging buffer, returned to its pool on destruction if finished() was called.
class StagingLease {
 public:
  StagingLease(StagingBuffers& pool, std::uint64_t bytes) : pool_(pool), buffer_(pool.acquire(bytes)) {}
  ~StagingLease() {
    if (finished_) pool_.release(buffer_);
  }
  StagingLease(const StagingLease&) = delete;
  StagingLease& operator=(const StagingLease&) = delete;

  StagingBuffer& operator*() const noexcept { return buffer_; }
  void finished() noexcept { finished_ = true; }

 private:
  StagingBuffers& pool_;
  StagingBuffer& buffer_;
  bool finished_ = false;  // after a failure wgpu may still use the buffer
};

void read(VectisStream& stream, std::byte* target, const DeviceBuffer& source, std::uint64_t offset,
          std::uint64_t bytes) {
  Gpu& gpu = stream.context.gpu;
  constexpr std::uint64_t part_max = StagingBuffers::bytes_max - 2 * word;
  StagingLease staging(stream.context.staging, std::min(bytes, part_max) + 2 * word);
  while (bytes > 0) {
    const std::uint64_t part = std::min(bytes, part_max);
    const std::uint64_t skip = offset % word;
    const std::uint64_t copied = plugin::round_up_to_word(skip + part);
    stream.recorder.copy({&source, offset - skip, copied}, {&(*staging).buffer, 0, copied});
    (*staging).read(gpu, stream.recorder.flush(), skip, target, part);
    target += part;
    offset += part;
    bytes -= part;
  }
  staging.finished();
}

bool is_aligned(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return (a | b | c) % word == 0; }

// Copies between two different buffers.
void copy(VectisStream& stream, const DeviceBuffer& source, std::uint64_t from, const DeviceBuffer& target,
          std::uint64_t to, std::uint64_t bytes) {
  if (is_aligned(from, to, bytes)) {
    stream.recorder.copy({&source, from, bytes}, {&target, to, bytes});
  } else {
    stream.context.byte_kernels.copy(stream.recorder, source, from, target, to, bytes);
  }
}

constexpr std::uint64_t scratch_bytes = std::uint64_t{4} << 20U;

const DeviceBuffer& scratch_of(VectisStream& stream) {
  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  if (!stream.scratch) {
    stream.scratch.emplace(DeviceBuffer{stream.context.gpu.make_buffer(scratch_bytes, usage), scratch_bytes});
  }
  return *stream.scratch;
}

// Copies within one buffer, whose ranges do not overlap, through the stream's scratch buffer: WebGPU copies between two
// different buffers only, and a kernel must not bind one buffer twice when a binding is writable.
void copy_within(VectisStream& stream, const DeviceBuffer& buffer, std::uint64_t from, std::uint64_t to,
                 std::uint64_t bytes) {
  const DeviceBuffer& scratch = scratch_of(stream);
  while (bytes > 0) {
    const std::uint64_t part = std::min(bytes, scratch_bytes - 2 * word);
    const std::uint64_t skip = from % word;
    const std::uint64_t copied = plugin::round_up_to_word(skip + part);
    stream.recorder.copy({&buffer, from - skip, copied}, {&scratch, 0, copied});
    copy(stream, scratch, skip, buffer, to, part);
    from += part;
    to += part;
    bytes -= part;
  }
}

}  // namespace

}  // namespace vectis::webgpu

namespace vectis::plugin {

using namespace webgpu;

void memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory) {
  const std::uint64_t limit = context->gpu.limits().maxBufferSize;
  if (bytes > limit) {
    throw Failure(VECTIS_ALLOCATION, "a buffer of " + std::to_string(bytes) + " bytes exceeds the device's limit of " +
                                         std::to_string(limit));
  }
  const std::uint64_t size = round_up_to_word(bytes);
  constexpr WGPUBufferUsage usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  auto buffer = std::make_shared<const DeviceBuffer>(DeviceBuffer{context->gpu.make_buffer(size, usage), size});
  *memory = new VectisMemory{*context, std::move(buffer), 0, bytes, false};
}

void memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice) {
  *slice = new VectisMemory{memory->context, memory->buffer, memory->offset + offset, bytes, true};
}

// wgpu keeps a released buffer until the commands that use it are done.
void memory_free(VectisContext* context, VectisMemory* memory) noexcept {
  if (!memory->is_slice) context->bind_groups.forget(memory->buffer->serial);
  delete memory;
}

void copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes) {
  write(*stream, *target->buffer, target->offset + offset, static_cast<const std::byte*>(source), bytes);
}

// Returns after the bytes have arrived.
void copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes) {
  read(*stream, static_cast<std::byte*>(target), *source->buffer, source->offset + offset, bytes);
}

// Slices often share a buffer.
void copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes) {
  const std::uint64_t from = source->offset + source_offset;
  const std::uint64_t to = target->offset + target_offset;
  if (source->buffer == target->buffer) {
    copy_within(*stream, *source->buffer, from, to, bytes);
  } else {
    copy(*stream, *source->buffer, from, *target->buffer, to, bytes);
  }
}

void fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  stream->context.byte_kernels.fill(stream->recorder, *target->buffer, target->offset + offset, bytes,
                                    value * 0x01010101U);
}

}  // namespace vectis::plugin
