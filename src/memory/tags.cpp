#include "memory/tags.hpp"

#include <algorithm>
#include <utility>

namespace vectis::inline v0_1::detail {

void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t seen) noexcept {
  std::uint64_t before = value.load(std::memory_order_relaxed);
  while (before < seen && !value.compare_exchange_weak(before, seen, std::memory_order_relaxed)) {
  }
}

void TagCounters::add(std::uint64_t bytes) {
  live_buffers_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t live = live_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  raise_to(peak_bytes_, live);
  if (open_scopes_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(mutex_);
  for (ScopePeak* scope : scopes_) raise_to(scope->bytes, live);
}

void TagCounters::remove(std::uint64_t bytes) {
  live_buffers_.fetch_sub(1, std::memory_order_relaxed);
  live_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void TagCounters::open_scope(ScopePeak& scope) {
  const std::lock_guard lock(mutex_);
  scopes_.push_back(&scope);
  open_scopes_.fetch_add(1, std::memory_order_release);
  raise_to(scope.bytes, live_bytes());
}

void TagCounters::close_scope(ScopePeak& scope) {
  const std::lock_guard lock(mutex_);
  std::erase(scopes_, &scope);
  open_scopes_.fetch_sub(1, std::memory_order_release);
}

TagUsage TagCounters::usage(std::string tag) const {
  const std::uint64_t live = live_bytes();
  // A request that runs meanwhile counts its bytes first and raises the peak then.
  return {std::move(tag), live_buffers_.load(std::memory_order_relaxed), live,
          std::max(peak_bytes_.load(std::memory_order_relaxed), live)};
}

TagCounters* TagTable::find(std::string_view tag) {
  if (tag.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = tags_.find(tag);
  if (found != tags_.end()) return found->second.get();
  if (tags_.size() >= tags_max) tag = other_tags;
  return tags_.emplace(std::string(tag), std::make_unique<TagCounters>()).first->second.get();
}

std::vector<TagUsage> TagTable::usage() const {
  std::vector<TagUsage> result;
  const auto add = [&](const std::string& name, const TagCounters& tag) {
    TagUsage usage = tag.usage(name);
    if (usage.peak_bytes > 0) result.push_back(std::move(usage));
  };
  const std::lock_guard lock(mutex_);
  for (const auto& [name, tag] : tags_) add(name, *tag);
  return result;
}

std::unordered_map<const TagCounters*, std::string> TagTable::names() const {
  std::unordered_map<const TagCounters*, std::string> result;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, tag] : tags_) result.emplace(tag.get(), name);
  return result;
}

}  // namespace vectis::inline v0_1::detail
