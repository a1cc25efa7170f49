// Memory straight from the operating system: anonymous pages and memory-mapped files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Zeroed host memory in whole pages (mmap), in huge pages where the system provides them. Owns its pages, movable. One
// thread at a time, like a pointer.
class VECTIS_API Pages {
 public:
  Pages() noexcept = default;
  // Aligned to at least 64 bytes. Pages that are never touched take no physical memory. Throws Allocation, with the
  // bytes requested and the bytes available, when the system refuses; 0 bytes give a null `data()`.
  explicit Pages(std::size_t bytes);
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A whole file mapped into memory (mmap, MAP_PRIVATE). The system loads a page when it is first touched and may evict
// it under memory pressure. Writes to the mapping are private to the process and never reach the file. While the
// mapping lives the file may be renamed or removed, but must not be truncated or overwritten: touching a page behind
// the new end of the file kills the process (SIGBUS). Reading is thread-safe.
class VECTIS_API MappedFile {
 public:
  // Throws Io, with path and reason, when the file cannot be opened or mapped, or is not a regular file.
  explicit MappedFile(std::string path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // The file's bytes, page-aligned. Empty when the file is empty.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::string path_;
  std::span<std::byte> bytes_;
};

}  // namespace vectis::inline v0_1
