#include "byte_kernels.hpp"

#include <algorithm>
#include <array>

namespace vectis::webgpu {

namespace {

constexpr std::uint32_t kernel_block_items = 256;
constexpr std::uint64_t part_bytes_max = std::uint64_t{32} << 20U;  // of one launch: well below the limit of its grid

// Both kernels write the words from `first` to `last`; of these two words, only the bytes in the masks.
constexpr const char* fill_text = R"(
struct Job { first: u32, last: u32, first_mask: u32, last_mask: u32, pattern: u32 }
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<uniform> job: Job;
@compute @workgroup_size(256)
fn fill(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = job.first + id.x;
  if (i > job.last) { return; }
  var mask = 0xffffffffu;
  if (i == job.first) { mask &= job.first_mask; }
  if (i == job.last) { mask &= job.last_mask; }
  words[i] = (words[i] & ~mask) | (job.pattern & mask);
}
)";

// `start` is 4 plus the offset of the source byte that goes to the lowest byte of word `first`; the offset may be as
// low as -3.
constexpr const char* copy_kernel_text = R"(
struct Job { first: u32, last: u32, first_mask: u32, last_mask: u32, start: u32, source_last: u32 }
@group(0) @binding(0) var<storage, read_write> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<uniform> job: Job;
@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = job.first + id.x;
  if (i > job.last) { return; }
  let at = job.start + id.x * 4u;
  let shift = (at % 4u) * 8u;
  var word = 0u;
  if (at >= 4u) { word = source[at / 4u - 1u] >> shift; }
  if (shift != 0u && at / 4u <= job.source_last) { word |= source[at / 4u] << (32u - shift); }
  var mask = 0xffffffffu;
  if (i == job.first) { mask &= job.first_mask; }
  if (i == job.last) { mask &= job.last_mask; }
  words[i] = (words[i] & ~mask) | (word & mask);
}
)";

// The 32-bit words that a range of bytes of a bound buffer touches.
struct WordRange {
  WordRange(std::uint64_t begin, std::uint64_t bytes)
      : first(static_cast<std::uint32_t>(begin / 4)),
        last(static_cast<std::uint32_t>((begin + bytes - 1) / 4)),
        first_mask(~std::uint32_t{0} << (begin % 4 * 8)),
        last_mask(~std::uint32_t{0} >> ((3 - (begin + bytes - 1) % 4) * 8)) {}

  [[nodiscard]] std::array<std::uint32_t, 3> grid() const { return {(last - first) / kernel_block_items + 1, 1, 1}; }

  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t first_mask;
  std::uint32_t last_mask;
};

}  // namespace

const Pipeline& ByteKernels::pipeline(std::optional<Pipeline>& made, const char* text, const char* name) {
  const std::lock_guard lock(mutex_);
  if (!made) {
    const WgslModule wgsl = read_wgsl(text);
    const Owned<WGPUShaderModule> module = make_module(gpu_, wgsl.text);
    made.emplace(make_pipeline(gpu_, module.get(), wgsl.interface, name));
  }
  return *made;
}

// The whole buffer where the limits allow it: copies at other offsets then find the same bind group.
BoundBuffer ByteKernels::window(const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes) const {
  if (buffer.bytes <= gpu_.limits().maxStorageBufferBindingSize && buffer.bytes < UINT32_MAX - 8) {
    return {&buffer, 0, buffer.bytes};
  }
  const std::uint64_t alignment = gpu_.limits().minStorageBufferOffsetAlignment;
  const std::uint64_t begin = offset / alignment * alignment;
  return {&buffer, begin, (offset + bytes + 3) / 4 * 4 - begin};
}

std::uint64_t ByteKernels::part_bytes() const {
  const WGPULimits& limits = gpu_.limits();
  // A window begins up to an alignment before its part and ends with a whole word.
  const std::uint64_t lost = limits.minStorageBufferOffsetAlignment + 4;
  return std::min(part_bytes_max, limits.maxStorageBufferBindingSize / 4 * 4 - lost);
}

void ByteKernels::fill(CommandRecorder& recorder, const DeviceBuffer& buffer, std::uint64_t offset, std::uint64_t bytes,
                       std::uint32_t pattern) {
  const Pipeline& kernel = pipeline(fill_, fill_text, "fill");
  for (const std::uint64_t end = offset + bytes; offset < end;) {
    const std::uint64_t part = std::min(end - offset, part_bytes() - offset % 4);
    const BoundBuffer bound = window(buffer, offset, part);
    const WordRange words(offset - bound.offset, part);
    const std::array job{words.first, words.last, words.first_mask, words.last_mask, pattern};
    recorder.dispatch({kernel, {&bound, 1}, job, words.grid()});
    offset += part;
  }
}

void ByteKernels::copy(CommandRecorder& recorder, const DeviceBuffer& source, std::uint64_t source_offset,
                       const DeviceBuffer& target, std::uint64_t target_offset, std::uint64_t bytes) {
  const Pipeline& kernel = pipeline(copy_, copy_kernel_text, "copy");
  for (const std::uint64_t end = target_offset + bytes; target_offset < end;) {
    const std::uint64_t part = std::min(end - target_offset, part_bytes() - target_offset % 4);
    const std::array bound{window(source, source_offset, part), window(target, target_offset, part)};
    const std::uint64_t from = source_offset - bound[0].offset;
    const WordRange words(target_offset - bound[1].offset, part);
    const auto start = static_cast<std::uint32_t>(from + 4 - target_offset % 4);
    const auto source_last = static_cast<std::uint32_t>((from + part - 1) / 4);
    const std::array job{words.first, words.last, words.first_mask, words.last_mask, start, source_last};
    recorder.dispatch({kernel, bound, job, words.grid()});
    source_offset += part;
    target_offset += part;
  }
}

}  // namespace vectis::webgpu
