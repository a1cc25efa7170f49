// Zeroed memory, large amounts of it straight from the operating system: anonymous pages and memory-mapped files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Owns zeroed host memory in whole pages (mmap), in huge pages where the system provides them; less than 32 KiB come
// from the heap. Movable, not copyable.
// Construction throws Allocation when the system refuses the memory. One thread at a time, like a pointer.
class VECTIS_API Pages {
 public:
  Pages() noexcept = default;
  // Maps `bytes` zeroed bytes, aligned to at least 64 bytes; pages never touched take no physical memory. 0 bytes
  // give a null data(). Throws Allocation, with the bytes requested and the bytes available, when the system refuses.
  explicit Pages(std::size_t bytes);
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  // Returns the first byte; null when there are 0 bytes. Valid until this object is destroyed or assigned to; a move
  // keeps the address. Does not throw.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  // Returns the number of bytes requested; 0 after a move. Does not throw.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Returns data() as a pointer to T, null when there are 0 bytes. T must be valid with all bytes zero and aligned to
  // at most 64 bytes; this is not checked. Does not throw.
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Maps a whole file into memory (mmap, MAP_PRIVATE): pages load when first touched, and writes to them never reach
// the file. The file may be renamed or removed meanwhile, but must not be truncated or overwritten: touching a page
// behind its new end kills the process (SIGBUS). Construction throws Io when mapping fails. Reading is thread-safe.
class VECTIS_API MappedFile {
 public:
  // Maps the file at `path`, which must be a regular file; an empty file gives empty bytes(). Throws Io, with path
  // and reason, when the file cannot be opened or mapped, or is not a regular file; InvalidInput when `path` has a
  // NUL byte.
  explicit MappedFile(std::string path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns the file's bytes, page-aligned and valid as long as this object; empty when the file is empty. Writes to
  // them are private to the process. Does not throw.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::string path_;
  std::span<std::byte> bytes_;
};

}  // namespace vectis::inline v0_1
