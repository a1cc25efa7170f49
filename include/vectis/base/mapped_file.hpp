// A file as memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// A whole file, whose pages come when they are touched and may leave again when memory is short. What is written to
// them is this process's alone and never reaches the file. As long as this lives the file may be renamed or removed,
// but not be made shorter or written: a touch behind its end ends the process. Any number of threads may read.
class VECTIS_API MappedFile {
 public:
  // Io, with path and reason, when it cannot be opened or mapped.
  explicit MappedFile(std::string path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // From the beginning of a page on. Empty when the file is.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::string path_;
  std::span<std::byte> bytes_;
};

}  // namespace vectis::inline v0_1
