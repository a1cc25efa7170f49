// A cache on disk shared by processes: one file per key, in a subfolder of the cache folder.
// docs/formats/kernel-cache.md specifies the format.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

std::vector<std::byte> encode_cache_entry(std::string_view key, std::span<const std::byte> payload);
// The payload; empty if the file is corrupt, of another format, or of another key.
std::optional<std::vector<std::byte>> decode_cache_entry(std::string_view file, std::string_view key);

// Disk errors never throw: an unreadable entry counts as absent, and the first failed write is logged. Thread-safe.
class DiskCache {
 public:
  // In the runtime's cache folder; without one, nothing is stored.
  DiskCache(Runtime& runtime, std::string_view subfolder);

  struct Found {
    std::optional<std::vector<std::byte>> payload;
    bool corrupt = false;  // there is a file, but not a valid entry for the key
  };
  [[nodiscard]] Found find(std::string_view key) const;
  void put(std::string_view key, std::span<const std::byte> payload);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // The file of a key; empty without a cache folder.
  [[nodiscard]] std::string file_of(std::string_view key) const;

 private:
  Runtime& runtime_;
  std::string path_;
  std::atomic<bool> write_failure_logged_{false};
};

}  // namespace vectis::inline v0_1::detail
