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

// High-water mark of the live bytes of a tag while one MemoryScope is open.
struct ScopePeak {
  std::atomic<std::uint64_t> bytes{0};
};

// Counts the live buffers and bytes of one memory tag. add and remove run at every acquire and release; add takes a
// lock only while a scope is open. Thread-safe.
class TagCounters {
 public:
  // Counts a buffer of `bytes` requested bytes as live and raises the high-water marks of the tag and of its open
  // scopes.
  void add(std::uint64_t bytes);
  // Counts a buffer as released. `bytes` must be what add() was given for it.
  void remove(std::uint64_t bytes);
  // Starts raising `scope`, at first to the current live bytes. `scope` must stay valid until close_scope.
  void open_scope(ScopePeak& scope);
  // Stops raising `scope`, which open_scope must have opened.
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

// Sets `value` to the maximum of `value` and `seen`, atomically. Does not throw.
void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t seen) noexcept;

// The counters of each memory tag. Entries are never moved or removed, so that blocks can point at them. Thread-safe.
class TagTable {
 public:
  // Tags with counters of their own. A program that makes a tag of every request would else fill the memory.
  static constexpr std::size_t tags_max = 4096;
  // The tag of all buffers whose tag came when there were tags_max others.
  static constexpr std::string_view other_tags = "(other tags)";

  // Returns the counters of `tag`, created at the first call and valid as long as the table; those of other_tags for a
  // new tag when there are tags_max. Returns null for the empty tag: untagged buffers touch no shared counter.
  TagCounters* find(std::string_view tag);
  // Returns the usage of every tag that ever had live bytes, sorted by name.
  [[nodiscard]] std::vector<TagUsage> usage() const;
  // Returns the name of each tag by the address of its counters, to label blocks.
  [[nodiscard]] std::unordered_map<const TagCounters*, std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<TagCounters>, std::less<>> tags_;
};

}  // namespace vectis::inline v0_1::detail
