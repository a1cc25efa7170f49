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

// Returns the bytes of a cache file: magic, format version, key, payload and checksum.
std::vector<std::byte> encode_cache_entry(std::string_view key, std::span<const std::byte> payload);
// Returns the payload of a cache file; empty if the file is truncated, its checksum is wrong, or it has another
// format version or key. Does not throw for corrupt files.
std::optional<std::vector<std::byte>> decode_cache_entry(std::string_view file, std::string_view key);

// A cache on disk, one file per key. Disk errors never throw: an unreadable entry counts as absent, and the first
// failed write is logged. Thread-safe.
class DiskCache {
 public:
  // Uses the folder `subfolder` of the runtime's cache folder; without a cache folder nothing is stored or found.
  // The runtime must outlive the cache. Does not access the disk.
  DiskCache(Runtime& runtime, std::string_view subfolder);

  // The result of find(): the payload, or none.
  struct Found {
    std::optional<std::vector<std::byte>> payload;
    bool corrupt = false;  // there is a file, but not a valid entry for the key
  };
  // Reads the entry of the key. Returns no payload if there is no cache folder or no file. Returns no payload and sets
  // `corrupt` if the file exists but cannot be read, is corrupt, has another key, or may have been written by another
  // user than this one and root. Disk errors do not throw.
  [[nodiscard]] Found find(std::string_view key) const;
  // Writes the entry of the key, replacing the file atomically; no effect without a cache folder. If writing fails,
  // nothing is thrown, and a warning is logged the first time.
  void put(std::string_view key, std::span<const std::byte> payload);

  // Returns the folder of the entries; empty without a cache folder. Does not throw.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns the path of the key's file, named by the key's hash64, whether or not it exists; empty without a cache
  // folder. Two keys can share a file, which find() detects.
  [[nodiscard]] std::string file_of(std::string_view key) const;

 private:
  Runtime& runtime_;
  std::string path_;
  std::atomic<bool> write_failure_logged_{false};
};

}  // namespace vectis::inline v0_1::detail
