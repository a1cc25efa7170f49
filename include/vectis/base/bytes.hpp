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

// The CRC32C of `bytes`, zero-extended to the 64 bits that file formats reserve for it. Detects accidental corruption,
// not tampering. The same on every platform. To checksum a stream piece by piece, pass the result for the bytes so far
// as `previous`: checksum(b, checksum(a)) is the checksum of a followed by b.
VECTIS_API std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t previous = 0) noexcept;

// FNV-1a with 64 bits, a hash for look-ups: names of cached files, keys of prebuilt kernels. The same on every platform
// and in plug-ins. Chains as checksum does. Not for file integrity.
VECTIS_API std::uint64_t hash64(std::span<const std::byte> bytes,
                                std::uint64_t previous = 0xcbf29ce484222325ULL) noexcept;

// Integers and floats of at most 8 bytes, which have the same bytes on every supported platform; not long double.
template <class T>
concept PlainNumber = (std::integral<T> || std::floating_point<T>) && sizeof(T) <= 8;

// A sink of bytes. Derive from it to save to anything but memory and files. One thread at a time.
class VECTIS_API ByteWriter {
 public:
  ByteWriter() = default;
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;
  virtual ~ByteWriter() = default;

  // Appends all of `bytes`. Throws Io when they cannot be written.
  virtual void write(std::span<const std::byte> bytes) = 0;

  // Writes the bytes of `value`.
  template <PlainNumber T>
  void put(T value) {
    auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    static_assert(std::endian::native == std::endian::little, "big-endian platforms are not supported");
    write(raw);
  }
  // Writes the length as 64 bits, then the characters.
  void put_string(std::string_view text);
};

// A source of bytes. One thread at a time.
class VECTIS_API ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;
  virtual ~ByteReader() = default;

  // Fills all of `target` with the next bytes. Throws CorruptData, naming the missing bytes, when fewer are left.
  virtual void read(std::span<std::byte> target) = 0;

  // The inverse of put. Throws CorruptData for a bool that is neither 0 nor 1.
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
  // The inverse of put_string. Throws CorruptData, before allocating, for a length above `bytes_max`.
  std::string get_string(std::size_t bytes_max);

 private:
  bool get_flag();
};

// Collects the written bytes in memory. One thread at a time.
class VECTIS_API MemoryWriter final : public ByteWriter {
 public:
  void write(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads from bytes that must outlive the reader. One thread at a time.
class VECTIS_API MemoryReader final : public ByteReader {
 public:
  explicit MemoryReader(std::span<const std::byte> bytes) noexcept : remaining_(bytes) {}
  void read(std::span<std::byte> target) override;
  // Bytes not read yet.
  [[nodiscard]] std::size_t remaining() const noexcept { return remaining_.size(); }

 private:
  std::span<const std::byte> remaining_;
};

}  // namespace vectis::inline v0_1
