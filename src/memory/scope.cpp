#include "vectis/memory/scope.hpp"

#include <mutex>
#include <utility>

#include "memory/device_pool.hpp"
#include "memory/tags.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

struct MemoryScope::State {
  std::shared_ptr<detail::DevicePool> pool;  // keeps the counters
  detail::TagCounters& tag;
  detail::ScopePeak peak;
};

MemoryScope::MemoryScope(MemoryPool& pool, int device, std::string tag, const Context& context)
    : context_(context.with_memory_tag(tag)) {
  if (tag.empty()) throw Error(ErrorCode::invalid_input, "memory_scope", "the tag is empty; name the work it measures");
  auto of_device = pool.device_pool(device);
  detail::TagCounters& counters = of_device->tags().find(tag);
  state_.reset(new State{std::move(of_device), counters, {}});
  const std::lock_guard lock(counters.mutex);
  state_->peak.bytes = counters.live_bytes;
  counters.scopes.push_back(&state_->peak);
}

MemoryScope::~MemoryScope() {
  const std::lock_guard lock(state_->tag.mutex);
  std::erase(state_->tag.scopes, &state_->peak);
}

std::uint64_t MemoryScope::live_bytes() const {
  const std::lock_guard lock(state_->tag.mutex);
  return state_->tag.live_bytes;
}

std::uint64_t MemoryScope::peak_bytes() const {
  const std::lock_guard lock(state_->tag.mutex);
  return state_->peak.bytes;
}

}  // namespace vectis::inline v0_1
