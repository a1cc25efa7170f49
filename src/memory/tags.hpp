// Live bytes and high-water marks by memory tag.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vectis/memory/statistics.hpp"

namespace vectis::inline v0_1::detail {

// High-water mark of a tag while a MemoryScope is open.
struct ScopePeak {
  std::atomic<std::uint64_t> bytes{0};
};

// Counters of one tag. add and remove run at every acquire and release and take no lock unless a scope is open.
// Thread-safe.
class TagCounters {
 public:
  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes);
  void open_scope(ScopePeak& scope);
  void close_scope(ScopePeak& scope);
  [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] TagUsage usage(std::string tag) const;

 private:
  alignas(64) std::atomic<std::uint64_t> live_bytes_{0};  // written at every use, together with the count
  std::atomic<std::uint64_t> live_buffers_{0};
  alignas(64) std::atomic<std::uint64_t> peak_bytes_{0};  // mostly read
  std::atomic<int> open_scopes_{0};
  std::mutex mutex_;
  std::vector<ScopePeak*> scopes_;  // guarded by mutex_
};

// value := max(value, seen)
void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t seen) noexcept;

// Counters by tag. Entries are never moved or removed, so that blocks can point at them. Thread-safe.
class TagTable {
 public:
  // The counters of a tag, created if needed. Null for the empty tag: untagged buffers touch no shared counter.
  TagCounters* find(std::string_view tag);
  // Usage of every tag ever used, by name.
  [[nodiscard]] std::vector<TagUsage> usage() const;
  // Names by counters, to label blocks.
  [[nodiscard]] std::unordered_map<const TagCounters*, std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<TagCounters>, std::less<>> tags_;
};

}  // namespace vectis::inline v0_1::detail
