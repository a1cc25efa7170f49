// Byte streams over files.
#pragma once

#include <cstddef>
#include <fstream>
#include <span>
#include <string>

#include "vectis/base/bytes.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Replaces the file at `path`. Io, with path and reason, when it cannot be opened or written. One thread at a time.
class VECTIS_API FileWriter final : public ByteWriter {
 public:
  explicit FileWriter(std::string path);
  // Closes the file, but cannot tell whether the last bytes arrived: call finish before.
  ~FileWriter() override = default;

  void write(std::span<const std::byte> bytes) override;
  // Hands everything to the operating system and closes the file; Io when that fails. Nothing may be written after it.
  void finish();

 private:
  std::string path_;
  std::ofstream file_;
};

// Io when the file cannot be opened or read, CorruptData when it ends too early. One thread at a time.
class VECTIS_API FileReader final : public ByteReader {
 public:
  explicit FileReader(std::string path);
  void read(std::span<std::byte> target) override;

 private:
  std::string path_;
  std::ifstream file_;
};

}  // namespace vectis::inline v0_1
