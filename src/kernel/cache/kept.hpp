// What was made once and is kept on disk for the next process: one file a key, in a subfolder of the cache folder.
// docs/formats/kernel-cache.md is the format.
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

std::vector<std::byte> encode_kept(std::string_view key, std::span<const std::byte> payload);
// The payload, or empty when the file is damaged, of another format, or of another key.
std::optional<std::vector<std::byte>> decode_kept(std::string_view file, std::string_view key);

// Never throws because of the disk: what cannot be read is as if it were not there, what cannot be written is told to
// the log once. Thread-safe.
class KeptFolder {
 public:
  // Inside the Runtime's cache folder; keeps nothing when there is none.
  KeptFolder(Runtime& runtime, std::string_view subfolder);

  struct Found {
    std::optional<std::vector<std::byte>> payload;
    bool damaged = false;  // there is a file, but no good one
  };
  [[nodiscard]] Found find(std::string_view key) const;
  void keep(std::string_view key, std::span<const std::byte> payload);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Of one key; empty when nothing is kept.
  [[nodiscard]] std::string file_of(std::string_view key) const;

 private:
  Runtime& runtime_;
  std::string path_;
  std::atomic<bool> told_{false};
};

}  // namespace vectis::inline v0_1::detail
