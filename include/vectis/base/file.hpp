// Byte streams over files.
#pragma once

#include <cstddef>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include "vectis/base/bytes.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Overwrites the file at `path`. Calls throw Io, with path and reason, when the file cannot be opened or written. Not
// atomic: a failure leaves a partial file; AtomicFileWriter does not. One thread at a time.
class VECTIS_API FileWriter final : public ByteWriter {
 public:
  // Opens the file and truncates it.
  explicit FileWriter(std::string path);
  // Closes the file without reporting errors of the last write: call finish first.
  ~FileWriter() override = default;

  void write(std::span<const std::byte> bytes) override;
  // Flushes the bytes to the operating system and closes the file. Throws Io when that fails. Must be the last call.
  void finish();

 private:
  std::string path_;
  std::ofstream file_;
};

// Replaces the file at `path` in one step: writes a temporary file beside it, and commit() flushes that to the disk and
// renames it. Until then, and when anything fails, the file at `path` stays as it is; the destructor removes a
// temporary file that was not committed. A process that has the old file mapped keeps the old bytes. Calls throw Io,
// with path and reason, when the file cannot be written. One thread at a time.
class VECTIS_API AtomicFileWriter final : public ByteWriter {
 public:
  // Creates the temporary file; the folder must exist.
  explicit AtomicFileWriter(std::string path);
  ~AtomicFileWriter() override;

  void write(std::span<const std::byte> bytes) override;
  // Flushes the temporary file to the disk (fsync) and renames it to `path`. Must be the last call.
  void commit();

 private:
  struct File;
  void flush();

  std::string path_;
  std::unique_ptr<File> file_;
};

// Reads a file from its beginning. Throws Io, with path and reason, when the file cannot be opened or read, CorruptData
// when it ends too early. One thread at a time.
class VECTIS_API FileReader final : public ByteReader {
 public:
  // Opens the file.
  explicit FileReader(std::string path);
  void read(std::span<std::byte> target) override;

 private:
  std::string path_;
  std::ifstream file_;
};

}  // namespace vectis::inline v0_1
