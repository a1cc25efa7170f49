// Byte streams for saving and loading, independent of files, and checksums. Numbers are little-endian.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Returns the CRC32C of `bytes`, zero-extended to 64 bits; equal on every platform. `previous` must be 0 or the
// result for the bytes before: checksum(b, checksum(a)) is the checksum of a followed by b. Detects accidental
// corruption of files, not tampering. Does not throw.
VECTIS_API std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t previous = 0) noexcept;

// Returns the 64-bit FNV-1a hash of `bytes`, for look-ups such as names of cached files; equal on every platform and
// in plug-ins. `previous` must be the default or the result for the bytes before: hash64(b, hash64(a)) is the hash of
// a followed by b. Not for file integrity: use checksum. Does not throw.
VECTIS_API std::uint64_t hash64(std::span<const std::byte> bytes,
                                std::uint64_t previous = 0xcbf29ce484222325ULL) noexcept;

// Satisfied by bool, integers and floats of at most 8 bytes, which have the same bytes on every supported platform;
// not by long double and classes. Constrains ByteWriter::put and ByteReader::get.
template <class T>
concept PlainNumber = (std::integral<T> || std::floating_point<T>) && sizeof(T) <= 8;

// A sink of bytes to save to. Derive from it and implement write() to save to anything but memory and files. Calls
// throw Io when the bytes cannot be written. One thread at a time.
class VECTIS_API ByteWriter {
 public:
  ByteWriter() = default;
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;
  virtual ~ByteWriter() = default;

  // Appends all of `bytes` to the sink. An implementation must throw Io when it cannot write them all.
  virtual void write(std::span<const std::byte> bytes) = 0;

  // Writes the sizeof(T) bytes of `value`, little-endian; ByteReader::get<T> reads them back. T must be an integer or
  // float of at most 8 bytes. Throws what write() throws: Io when the bytes cannot be written.
  template <PlainNumber T>
  void put(T value) {
    auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    static_assert(std::endian::native == std::endian::little, "big-endian platforms are not supported");
    write(raw);
  }
  // Writes the length of `text` as a 64-bit integer, then its characters; ByteReader::get_string reads them back.
  // Throws what write() throws: Io when the bytes cannot be written.
  void put_string(std::string_view text);
};

// A source of bytes to load from, read in order. Derive from it and implement read() to load from anything but memory
// and files. Calls throw CorruptData when the bytes end too early. One thread at a time.
class VECTIS_API ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;
  virtual ~ByteReader() = default;

  // Fills all of `target` with the next bytes. Throws CorruptData, naming the number of missing bytes, when fewer
  // bytes are left than `target` holds; a reader of files throws Io when the file cannot be read.
  virtual void read(std::span<std::byte> target) = 0;

  // Reads and returns a value that ByteWriter::put<T> wrote. T must be an integer or float of at most 8 bytes. Throws
  // CorruptData when fewer than sizeof(T) bytes are left, or when T is bool and the byte is neither 0 nor 1; Io when
  // the source cannot be read.
  template <PlainNumber T>
  T get() {
    if constexpr (std::same_as<T, bool>) {
      return get_flag();
    } else {
      std::array<std::byte, sizeof(T)> raw{};
      read(raw);
      return std::bit_cast<T>(raw);
    }
  }
  // Reads and returns a string that ByteWriter::put_string wrote. Throws CorruptData, before allocating, when the
  // stored length exceeds `bytes_max`, or when fewer bytes are left than that length; Allocation when the host has no
  // memory for it; Io when the source cannot be read.
  std::string get_string(std::size_t bytes_max);

 private:
  bool get_flag();
};

// A ByteWriter that collects the written bytes in memory; bytes() returns them. Throws std::bad_alloc, never Io, when
// memory runs out. One thread at a time.
class VECTIS_API MemoryWriter final : public ByteWriter {
 public:
  // Appends `bytes` to the collected bytes, which invalidates earlier results of bytes(). Throws std::bad_alloc when
  // the host is out of memory.
  void write(std::span<const std::byte> bytes) override;
  // Returns all bytes written so far; valid until the next write() or the destructor. Does not throw.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// A ByteReader of bytes in memory, which must outlive the reader. Reads throw CorruptData when the bytes end too
// early. One thread at a time.
class VECTIS_API MemoryReader final : public ByteReader {
 public:
  // Starts at the first of `bytes`, which are not copied and must outlive the reader. Does not throw.
  explicit MemoryReader(std::span<const std::byte> bytes) noexcept : remaining_(bytes) {}
  // Copies the next target.size() bytes into `target`. Throws CorruptData, and consumes nothing, when fewer bytes are
  // left.
  void read(std::span<std::byte> target) override;
  // Returns the number of bytes not read yet. Does not throw.
  [[nodiscard]] std::size_t remaining() const noexcept { return remaining_.size(); }

 private:
  std::span<const std::byte> remaining_;
};

}  // namespace vectis::inline v0_1
