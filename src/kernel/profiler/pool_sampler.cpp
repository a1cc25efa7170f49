#include "kernel/profiler/pool_sampler.hpp"

#include <algorithm>

#include "vectis/device/registry.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::detail {

PoolSampler::PoolSampler(Runtime& runtime, Duration interval)
    : runtime_(runtime),
      interval_(static_cast<std::uint64_t>(std::max<Duration::rep>(interval.count(), 0))),
      devices_(static_cast<int>(runtime.service<DeviceRegistry>().devices().size())) {}

std::vector<SampleRecord> PoolSampler::changes(std::uint64_t now, bool at_once) {
  if (!at_once && now < next_.load(std::memory_order_relaxed)) return {};
  std::unique_lock lock(mutex_, std::defer_lock);
  if (at_once) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return {};
  }
  next_.store(now + interval_, std::memory_order_relaxed);
  std::vector<SampleRecord> changed;
  const MemoryPool& pool = memory_pool(runtime_);
  for (int device = 0; device < devices_; ++device) {
    const auto stats = pool.get_memory_stats(device);
    if (!stats) continue;
    const SampleRecord sample{device, now, stats->in_use_bytes, stats->cached_bytes};
    const auto last = last_.find(device);
    if (last != last_.end() && last->second.live_bytes == sample.live_bytes &&
        last->second.cached_bytes == sample.cached_bytes) {
      continue;
    }
    last_[device] = sample;
    changed.push_back(sample);
  }
  return changed;
}

void PoolSampler::clear() {
  const std::lock_guard lock(mutex_);
  last_.clear();
}

}  // namespace vectis::inline v0_1::detail
