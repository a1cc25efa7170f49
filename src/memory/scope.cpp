#include "vectis/memory/scope.hpp"

#include <utility>

#include "memory/device_pool.hpp"
#include "memory/tags.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

struct MemoryScope::State {
  std::shared_ptr<detail::DevicePool> pool;  // owns the counters
  detail::TagCounters& tag;
  detail::ScopePeak peak;
};

MemoryScope::MemoryScope(MemoryPool& pool, int device, const std::string& tag, const Context& context)
    : context_(context.with_memory_tag(tag)) {
  if (tag.empty()) throw Error(ErrorCode::invalid_input, "memory_scope", "the tag is empty; give the scope a name");
  auto of_device = pool.device_pool(device);
  detail::TagCounters& counters = *of_device->tags().find(tag);
  state_.reset(new State{std::move(of_device), counters, {}});
  counters.open_scope(state_->peak);
}

MemoryScope::~MemoryScope() {
  if (!state_->pool->forked()) state_->tag.close_scope(state_->peak);
}

std::uint64_t MemoryScope::live_bytes() const { return state_->tag.live_bytes(); }

std::uint64_t MemoryScope::peak_bytes() const { return state_->peak.bytes.load(std::memory_order_relaxed); }

}  // namespace vectis::inline v0_1
