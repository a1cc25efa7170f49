#include "memory/tags.hpp"

#include <algorithm>

namespace vectis::inline v0_1::detail {

void TagCounters::add(std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  ++live_buffers;
  live_bytes += bytes;
  peak_bytes = std::max(peak_bytes, live_bytes);
  for (ScopePeak* scope : scopes) scope->bytes = std::max(scope->bytes, live_bytes);
}

void TagCounters::remove(std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  --live_buffers;
  live_bytes -= bytes;
}

TagCounters& TagTable::find(std::string_view tag) {
  if (tag.empty()) return untagged_;
  const std::lock_guard lock(mutex_);
  const auto found = tags_.find(tag);
  if (found != tags_.end()) return *found->second;
  return *tags_.emplace(std::string(tag), std::make_unique<TagCounters>()).first->second;
}

std::vector<TagUsage> TagTable::usage() const {
  std::vector<TagUsage> result;
  const auto add = [&](const std::string& name, const TagCounters& tag) {
    const std::lock_guard lock(tag.mutex);
    if (tag.peak_bytes > 0) result.push_back({name, tag.live_buffers, tag.live_bytes, tag.peak_bytes});
  };
  add("", untagged_);
  const std::lock_guard lock(mutex_);
  for (const auto& [name, tag] : tags_) add(name, *tag);
  return result;
}

std::unordered_map<const TagCounters*, std::string> TagTable::names() const {
  std::unordered_map<const TagCounters*, std::string> result{{&untagged_, ""}};
  const std::lock_guard lock(mutex_);
  for (const auto& [name, tag] : tags_) result.emplace(tag.get(), name);
  return result;
}

}  // namespace vectis::inline v0_1::detail
