// Live bytes and peaks by the memory tag of a Context.
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

// The peak of a tag while a scope is open.
struct ScopePeak {
  std::atomic<std::uint64_t> bytes{0};
};

// Thread-safe. Counting takes no lock unless a scope is open: it happens at every acquire and release.
class TagCounters {
 public:
  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes);
  void open_scope(ScopePeak& scope);
  void close_scope(ScopePeak& scope);
  [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] TagUsage usage(std::string tag) const;

 private:
  alignas(64) std::atomic<std::uint64_t> live_bytes_{0};  // written at every use, with the count beside it
  std::atomic<std::uint64_t> live_buffers_{0};
  alignas(64) std::atomic<std::uint64_t> peak_bytes_{0};  // mostly read
  std::atomic<int> open_scopes_{0};
  std::mutex mutex_;
  std::vector<ScopePeak*> scopes_;  // guarded by mutex_
};

// value := max(value, seen)
void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t seen) noexcept;

// Entries stay where they are for ever, so that blocks can point at them. Thread-safe.
class TagTable {
 public:
  // Null for the empty tag: what has no name is not counted apart, which keeps untagged use free of shared counters.
  TagCounters* find(std::string_view tag);
  [[nodiscard]] std::vector<TagUsage> usage() const;
  [[nodiscard]] std::unordered_map<const TagCounters*, std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<TagCounters>, std::less<>> tags_;
};

}  // namespace vectis::inline v0_1::detail
