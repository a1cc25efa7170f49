// Live bytes and peaks by the memory tag of a Context.
#pragma once

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

// The peak of a tag while a scope is open. Guarded by the table's lock.
struct ScopePeak {
  std::uint64_t bytes = 0;
};

struct TagCounters {
  mutable std::mutex mutex;
  std::uint64_t live_buffers = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::vector<ScopePeak*> scopes;

  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes);
};

// Entries stay where they are for ever, so that blocks can point at them. Thread-safe.
class TagTable {
 public:
  TagCounters& find(std::string_view tag);
  [[nodiscard]] std::vector<TagUsage> usage() const;
  [[nodiscard]] std::unordered_map<const TagCounters*, std::string> names() const;

 private:
  TagCounters untagged_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<TagCounters>, std::less<>> tags_;
};

}  // namespace vectis::inline v0_1::detail
