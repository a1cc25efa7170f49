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

// A ByteWriter that overwrites the file at a path. Not atomic: a failure leaves a partial file; use AtomicFileWriter
// to avoid that. Call finish() last. Calls throw Io, with path and reason, when the file cannot be opened or written.
// One thread at a time.
class VECTIS_API FileWriter final : public ByteWriter {
 public:
  // Opens the file at `path` for writing and truncates it, or creates it; its folder must exist. Throws Io, with path
  // and reason, when the file cannot be opened, InvalidInput when `path` has a NUL byte.
  explicit FileWriter(std::string path);
  // Closes the file without reporting a failure of the last write: call finish() first. Does not throw.
  ~FileWriter() override = default;

  // Appends `bytes` to the file, through a buffer: a failure may show only at a later write() or at finish(). Must
  // not be called after finish(). Throws Io, with path and reason, when the file cannot be written.
  void write(std::span<const std::byte> bytes) override;
  // Flushes the bytes to the operating system (not to the disk), so that other processes can read them. Throws Io, with
  // path and reason, when that fails.
  void flush();
  // Flushes the bytes to the operating system (not to the disk) and closes the file. Must be the last call. Throws
  // Io, with path and reason, when that fails.
  void finish();

 private:
  std::string path_;
  std::ofstream file_;
};

// A ByteWriter that replaces the file at a path in one step: it writes a temporary file beside it, which commit()
// flushes to the disk and renames. Without commit(), or after a failure, the old file stays. The new file has the
// permissions of the old one. Of a symbolic link, the file that it leads to is replaced. A process that has the old
// file mapped keeps the old bytes. Calls throw Io, with path and reason, when writing fails. One thread at a time.
class VECTIS_API AtomicFileWriter final : public ByteWriter {
 public:
  // Creates a temporary file with a random name beside `path`; the folder must exist. Throws Io, with path and
  // reason, when that fails; InvalidInput when `path` has a NUL byte, or is a folder, a device, a FIFO or a socket.
  explicit AtomicFileWriter(std::string path);
  // Removes the temporary file unless commit() succeeded; the file at `path` then stays as it was. Does not throw.
  ~AtomicFileWriter() override;

  // Appends `bytes` to the temporary file, through a buffer of 1 MiB. Must not be called after commit(). Throws Io,
  // with path and reason, when the file cannot be written; so does every later commit() then.
  void write(std::span<const std::byte> bytes) override;
  // Flushes the temporary file to the disk (fsync) and renames it to `path`, replacing the old file. Must be the last
  // call. Throws Io, with path and reason, when that fails; the old file then stays.
  void commit();

 private:
  struct File;
  void flush();

  std::string path_;
  std::unique_ptr<File> file_;
};

// A ByteReader of a file, from its beginning. Calls throw Io, with path and reason, when the file cannot be opened or
// read, CorruptData when it ends too early. One thread at a time.
class VECTIS_API FileReader final : public ByteReader {
 public:
  // Opens the file at `path`, which must exist, for reading from its beginning. Throws Io, with path and reason, when
  // the file cannot be opened, InvalidInput when `path` has a NUL byte.
  explicit FileReader(std::string path);
  // Fills all of `target` with the next bytes of the file. Throws CorruptData, naming the number of missing bytes,
  // when the file ends before; Io when it cannot be read.
  void read(std::span<std::byte> target) override;

 private:
  std::string path_;
  std::ifstream file_;
};

}  // namespace vectis::inline v0_1
