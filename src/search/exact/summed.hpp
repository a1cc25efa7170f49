// Byte streams that keep a checksum of what passes, for blocks that end with it.
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

namespace vectis::inline v0_1::exact {

inline constexpr std::string_view loading = "load_index";

[[noreturn]] inline void damaged(std::string_view what, std::string_view op = loading) {
  throw Error(ErrorCode::corrupt_data, op, fmt::format("{}; the data is damaged, use another copy", what));
}

inline void refuse_version(std::uint32_t found, std::uint32_t known, std::string_view op = loading) {
  if (found == known) return;
  throw Error(ErrorCode::unsupported, op,
              fmt::format("version {} of the format, this program reads {}; use a newer one", found, known));
}

inline void refuse_features(std::string_view who, std::uint64_t features, std::uint64_t known,
                            std::string_view op = loading) {
  if ((features & ~known) == 0) return;
  throw Error(ErrorCode::unsupported, op,
              fmt::format("the data needs features {:#x} that this {} does not know; use a newer version",
                          features & ~known, who));
}

class SummingWriter final : public ByteWriter {
 public:
  explicit SummingWriter(ByteWriter& writer) : writer_(writer) {}

  void write(std::span<const std::byte> bytes) override {
    sum_ = checksum(bytes, sum_);
    writer_.write(bytes);
  }
  // The end of a block.
  void close() { writer_.put(sum_); }

 private:
  ByteWriter& writer_;
  std::uint64_t sum_ = checksum({});
};

class SummingReader final : public ByteReader {
 public:
  // `op` is the call that errors name.
  explicit SummingReader(ByteReader& reader, std::string_view op = loading) : reader_(reader), op_(op) {}

  void read(std::span<std::byte> target) override {
    reader_.read(target);
    sum_ = checksum(target, sum_);
  }
  // `count` numbers, in pieces: what a file promises but does not hold is not allocated.
  template <PlainNumber T>
  std::vector<T> read_numbers(std::size_t count) {
    constexpr std::size_t piece = (std::size_t{1} << 20U) / sizeof(T);
    std::vector<T> numbers;
    while (numbers.size() < count) {
      const std::size_t before = numbers.size();
      numbers.resize(before + std::min(piece, count - before));
      read(std::as_writable_bytes(std::span(numbers).subspan(before)));
    }
    return numbers;
  }
  // CorruptData when the checksum that ends the block is another.
  void close(std::string_view block) {
    if (reader_.get<std::uint64_t>() != sum_) damaged(fmt::format("the checksum of a {} is wrong", block), op_);
  }

 private:
  ByteReader& reader_;
  std::string_view op_;
  std::uint64_t sum_ = checksum({});
};

}  // namespace vectis::inline v0_1::exact
