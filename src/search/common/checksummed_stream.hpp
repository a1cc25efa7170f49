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

inline constexpr std::string_view load_index_op = "load_index";

// Throws CorruptData.
[[noreturn]] inline void throw_corrupt(std::string_view what, std::string_view op = load_index_op) {
  throw Error(ErrorCode::corrupt_data, op, fmt::format("{}; the data is corrupt, use another copy", what));
}

// Throws Unsupported when the format's version is not the one this program reads.
inline void validate_version(std::uint32_t found, std::uint32_t known, std::string_view op = load_index_op) {
  if (found == known) return;
  throw Error(
      ErrorCode::unsupported, op,
      fmt::format("format version {}, but this program reads version {}; use the version that wrote it", found, known));
}

// Throws Unsupported when the data needs feature bits that are not among `known`. `who` is "reader" or "writer".
inline void validate_features(std::string_view who, std::uint64_t features, std::uint64_t known,
                              std::string_view op = load_index_op) {
  if ((features & ~known) == 0) return;
  throw Error(ErrorCode::unsupported, op,
              fmt::format("the data needs {} features {:#x} that this program does not know; use a newer version", who,
                          features & ~known));
}

// One thread at a time.
class ChecksumWriter final : public ByteWriter {
 public:
  explicit ChecksumWriter(ByteWriter& writer) : writer_(writer) {}

  void write(std::span<const std::byte> bytes) override {
    sum_ = checksum(bytes, sum_);
    writer_.write(bytes);
  }
  // Ends the block: writes the checksum of what was written before.
  void close() { writer_.put(sum_); }

 private:
  ByteWriter& writer_;
  std::uint64_t sum_ = checksum({});
};

// One thread at a time.
class ChecksumReader final : public ByteReader {
 public:
  // `op` is the call that messages name.
  explicit ChecksumReader(ByteReader& reader, std::string_view op = load_index_op) : reader_(reader), op_(op) {}

  void read(std::span<std::byte> target) override {
    reader_.read(target);
    sum_ = checksum(target, sum_);
  }
  // Reads `count` elements in pieces of 1 MiB, so that memory grows with what the file holds, not with what it
  // promises.
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
  // Ends the block: throws CorruptData when the checksum in the file is not that of what was read.
  void close(std::string_view block) {
    if (reader_.get<std::uint64_t>() != sum_) throw_corrupt(fmt::format("the checksum of a {} is wrong", block), op_);
  }

 private:
  ByteReader& reader_;
  std::string_view op_;
  std::uint64_t sum_ = checksum({});
};

}  // namespace vectis::inline v0_1::detail
