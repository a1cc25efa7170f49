#include <algorithm>
#include <cstring>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::uint64_t word = 4;

// Host bytes within one word, whose other bytes stay.
void patch(VectisStream& stream, const DeviceBuffer& target, std::uint64_t offset, const std::byte* source,
           std::uint64_t bytes) {
  std::uint32_t pattern = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&pattern) + offset % word, source, bytes);
  stream.context.bytes.fill(stream.recorder, target, offset, bytes, pattern);
}

// The words in between go as they are, the rest at both ends into words that are there.
void write(VectisStream& stream, const DeviceBuffer& target, std::uint64_t offset, const std::byte* source,
           std::uint64_t bytes) {
  if (const std::uint64_t head = std::min(bytes, (word - offset % word) % word); head > 0) {
    patch(stream, target, offset, source, head);
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
  if (bytes > 0) patch(stream, target, offset, source, bytes);
}

// A staging buffer for as long as it is used.
class Borrowed {
 public:
  Borrowed(StagingBuffers& all, std::uint64_t bytes) : all_(all), buffer_(all.take(bytes)) {}
  ~Borrowed() {
    if (finished_) all_.give_back(buffer_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  StagingBuffer& operator*() const noexcept { return buffer_; }
  void finished() noexcept { finished_ = true; }

 private:
  StagingBuffers& all_;
  StagingBuffer& buffer_;
  bool finished_ = false;  // after a failure wgpu may still hold it
};

void read(VectisStream& stream, std::byte* target, const DeviceBuffer& source, std::uint64_t offset,
          std::uint64_t bytes) {
  Gpu& gpu = stream.context.gpu;
  constexpr std::uint64_t part_max = StagingBuffers::bytes_max - 2 * word;
  Borrowed staging(stream.context.staging, std::min(bytes, part_max) + 2 * word);
  while (bytes > 0) {
    const std::uint64_t part = std::min(bytes, part_max);
    const std::uint64_t skip = offset % word;
    const std::uint64_t whole = (skip + part + word - 1) / word * word;
    stream.recorder.copy({&source, offset - skip, whole}, {&(*staging).buffer, 0, whole});
    (*staging).read(gpu, stream.recorder.flush(), skip, target, part);
    target += part;
    offset += part;
    bytes -= part;
  }
  staging.finished();
}

bool is_aligned(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return (a | b | c) % word == 0; }

}  // namespace

VectisStatus copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                            std::uint64_t bytes, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    write(*stream, *target->buffer, target->offset + offset, static_cast<const std::byte*>(source), bytes);
    return VECTIS_OK;
  });
}

// The bytes are there on return.
VectisStatus copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset,
                          std::uint64_t bytes, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    read(*stream, static_cast<std::byte*>(target), *source->buffer, source->offset + offset, bytes);
    return VECTIS_OK;
  });
}

// WebGPU copies between two different buffers, and slices are often of one.
VectisStatus copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset,
                            VectisMemory* source, std::uint64_t source_offset, std::uint64_t bytes,
                            VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::uint64_t from = source->offset + source_offset;
    const std::uint64_t to = target->offset + target_offset;
    if (source->buffer != target->buffer && is_aligned(from, to, bytes)) {
      stream->recorder.copy({source->buffer.get(), from, bytes}, {target->buffer.get(), to, bytes});
    } else {
      stream->context.bytes.copy(stream->recorder, *source->buffer, from, *target->buffer, to, bytes);
    }
    return VECTIS_OK;
  });
}

VectisStatus fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes,
                  std::uint8_t value, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    stream->context.bytes.fill(stream->recorder, *target->buffer, target->offset + offset, bytes, value * 0x01010101U);
    return VECTIS_OK;
  });
}

}  // namespace vectis::webgpu
