#include "bind_groups.hpp"

#include <atomic>
#include <string>

#include "trap.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::size_t kept_max = 2048;  // then all are made anew

WGPUBindGroupEntry entry_of(std::uint32_t binding, WGPUBuffer buffer, std::uint64_t offset, std::uint64_t bytes) {
  WGPUBindGroupEntry entry{};
  entry.binding = binding;
  entry.buffer = buffer;
  entry.offset = offset;
  entry.size = bytes;
  return entry;
}

}  // namespace

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::size_t BindGroups::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = key.size();
  for (const std::uint64_t part : key) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32U;
  }
  return hash;
}

std::shared_ptr<BindGroup> BindGroups::find(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                            const DeviceBuffer& scalars, std::uint64_t scalar_bytes) {
  const std::lock_guard lock(mutex_);
  key_.assign({pipeline.serial, scalars.serial, scalar_bytes});
  for (const BoundBuffer& bound : buffers) key_.insert(key_.end(), {bound.buffer->serial, bound.offset, bound.bytes});
  if (const auto found = groups_.find(key_); found != groups_.end()) return found->second;
  std::shared_ptr<BindGroup> made = make(pipeline, buffers, scalars, scalar_bytes);
  if (groups_.size() >= kept_max) groups_.clear();
  return groups_.emplace(key_, std::move(made)).first->second;
}

std::shared_ptr<BindGroup> BindGroups::make(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                            const DeviceBuffer& scalars, std::uint64_t scalar_bytes) {
  std::vector<WGPUBindGroupEntry> entries;
  entries.reserve(buffers.size() + 1);
  std::uint32_t binding = 0;
  for (const BoundBuffer& bound : buffers) {
    entries.push_back(entry_of(binding++, bound.buffer->buffer.get(), bound.offset, bound.bytes));
  }
  if (scalar_bytes > 0) entries.push_back(entry_of(binding, scalars.buffer.get(), 0, scalar_bytes));
  WGPUBindGroupDescriptor wanted{};
  wanted.layout = pipeline.layout.get();
  wanted.entryCount = entries.size();
  wanted.entries = entries.data();
  const Api& api = gpu_.api();
  auto made = std::make_shared<BindGroup>();
  Trap trap(gpu_);
  made->group = Owned<WGPUBindGroup>(api.DeviceCreateBindGroup(gpu_.device(), &wanted), api.BindGroupRelease);
  trap.check("the arguments do not fit the kernel '" + pipeline.name + "'", VECTIS_INVALID_INPUT);
  return made;
}

void BindGroups::forget(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [serial](const auto& entry) {
    const Key& key = entry.first;
    if (key[0] == serial || key[1] == serial) return true;
    for (std::size_t part = 3; part < key.size(); part += 3) {
      if (key[part] == serial) return true;
    }
    return false;
  });
}

}  // namespace vectis::webgpu
