// Byte streams that compute the checksum of a block while it is written or read, and the errors of loading.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vectis/base/bytes.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

// The operation that messages of loading name unless the caller passes another.
inline constexpr std::string_view load_index_op = "load_index";

// Throws CorruptData for the call `op`, with a message that begins with `what` and advises to use another copy.
[[noreturn]] inline void throw_corrupt(std::string_view what, std::string_view op = load_index_op) {
  throw Error(ErrorCode::corrupt_data, op, fmt::format("{}; the data is corrupt, use another copy", what));
}

// Throws Unsupported when `found`, the format version in the data, is not `known`, the one that this program reads.
inline void validate_version(std::uint32_t found, std::uint32_t known, std::string_view op = load_index_op) {
  if (found == known) return;
  throw Error(
      ErrorCode::unsupported, op,
      fmt::format("format version {}, but this program reads version {}; use the version that wrote it", found, known));
}

// Throws Unsupported when `features`, the bits that the data needs, has a bit that is not in `known`. `who` is
// "reader" or "writer", for the message.
inline void validate_features(std::string_view who, std::uint64_t features, std::uint64_t known,
                              std::string_view op = load_index_op) {
  if ((features & ~known) == 0) return;
  throw Error(ErrorCode::unsupported, op,
              fmt::format("the data needs {} features {:#x} that this program does not know; use a newer version", who,
                          features & ~known));
}

// Throws CorruptData when `reader` has bytes left: a file ends with the last byte that was saved. A ByteReader reports
// its end only by throwing. Throws Io when the reader does.
inline void validate_end(ByteReader& reader, std::string_view op = load_index_op) {
  try {
    reader.get<std::uint8_t>();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupt_data) return;
    throw;
  }
  throw_corrupt("bytes follow the last one that was saved", op);
}

// Passes bytes on to another writer and computes the checksum of one block. `writer` must outlive it. Calls throw
// what that writer throws. One thread at a time.
class ChecksumWriter final : public ByteWriter {
 public:
  explicit ChecksumWriter(ByteWriter& writer) : writer_(writer) {}

  void write(std::span<const std::byte> bytes) override {
    sum_ = checksum(bytes, sum_);
    writer_.write(bytes);
  }
  // Ends the block: writes the checksum of all bytes written through this object. Must be the last call. Throws what
  // the underlying writer throws.
  void close() { writer_.put(sum_); }

 private:
  ByteWriter& writer_;
  std::uint64_t sum_ = checksum({});
};

// Reads bytes from another reader and computes the checksum of one block. `reader` must outlive it. Calls throw what
// that reader throws, CorruptData when too few bytes are left. One thread at a time.
class ChecksumReader final : public ByteReader {
 public:
  // Starts a block at the reader's position. `op`, which must outlive this object, is the call that messages name.
  explicit ChecksumReader(ByteReader& reader, std::string_view op = load_index_op) : reader_(reader), op_(op) {}

  void read(std::span<std::byte> target) override {
    reader_.read(target);
    sum_ = checksum(target, sum_);
  }
  // Reads and returns `count` elements, in pieces of 1 MiB, so that memory grows with the bytes that exist and not
  // with a `count` from a corrupt header. Throws what the underlying reader throws: CorruptData when too few bytes
  // are left.
  template <PlainNumber T>
  std::vector<T> read_array(std::size_t count) {
    constexpr std::size_t piece = (std::size_t{1} << 20U) / sizeof(T);
    std::vector<T> elements;
    while (elements.size() < count) {
      const std::size_t before = elements.size();
      elements.resize(before + std::min(piece, count - before));
      read(std::as_writable_bytes(std::span(elements).subspan(before)));
    }
    return elements;
  }
  // Ends the block: reads the stored checksum and throws CorruptData, naming `block`, when it differs from that of
  // the bytes read through this object. Must be the last call.
  void close(std::string_view block) {
    if (reader_.get<std::uint64_t>() != sum_) throw_corrupt(fmt::format("the checksum of a {} is wrong", block), op_);
  }

 private:
  ByteReader& reader_;
  std::string_view op_;
  std::uint64_t sum_ = checksum({});
};

}  // namespace vectis::inline v0_1::detail
