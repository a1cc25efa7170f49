// Checksum repair of saved indexes of every kind: docs/formats/exact-index.md, graph-index.md and auto-index.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/fuzz/fuzz.hpp"

namespace vectis::fuzz {

// Corrects the checksums of one saved index inside a file. Stops at a block that cannot be parsed.
class IndexChecksums {
 public:
  IndexChecksums(Bytes& file, std::size_t begin) : file_(file), begin_(begin), at_(begin) {}

  // Returns the offset of the index's end; nothing when not all blocks could be parsed.
  std::optional<std::size_t> fix() {
    const std::string_view magic = has(8) ? text_of(file_).substr(at_, 8) : std::string_view();
    const bool fixed = magic == "VECTISAU" ? fix_auto() : magic == "VECTISGR" ? fix_graph() : fix_exact();
    return fixed ? std::optional(at_) : std::nullopt;
  }

 private:
  static constexpr std::size_t magic_and_version = 12;
  static constexpr std::size_t sum_bytes = 8;

  [[nodiscard]] bool has(std::size_t bytes) const { return at_ <= file_.size() && bytes <= file_.size() - at_; }
  template <class T>
  [[nodiscard]] T header(std::size_t at) const {
    return value_at<T>(file_, begin_ + at);
  }
  template <class T>
  std::optional<T> take() {
    if (!has(sizeof(T))) return std::nullopt;
    at_ += sizeof(T);
    return value_at<T>(file_, at_ - sizeof(T));
  }
  // Skips `count` elements, or fails when the file is shorter.
  bool skip(std::size_t count, std::size_t bytes = 1) {
    if (count > file_.size() || !has(count * bytes)) return false;
    at_ += count * bytes;
    return true;
  }
  // Ends the block that began at `begin`.
  bool close(std::size_t begin) {
    if (!has(sum_bytes)) return false;
    at_ = write_checksum(file_, begin, at_, at_);
    return true;
  }

  bool fix_auto() {
    if (!skip(magic_and_version) || !skip(16) || !close(begin_ + magic_and_version)) return false;
    begin_ = at_;
    if (!fix_exact()) return false;
    begin_ = at_;
    return fix_graph();
  }

  bool fix_exact() {
    if (!skip(52) || !close(begin_ + magic_and_version)) return false;
    const std::size_t dim = header<std::uint32_t>(32);
    const std::size_t code_bytes = header<std::uint8_t>(30) == 4 ? 1 : 2;
    auto missing = header<std::uint64_t>(44);
    while (missing > 0) {
      const std::size_t block = at_;
      const auto kind = take<std::uint32_t>();
      const auto rows = take<std::uint64_t>();
      if (!kind || rows.value_or(0) == 0 || dim > file_.size()) return false;
      const bool codes = *kind == 2;
      if (codes && !skip(4 + 4 * dim)) return false;
      if (!skip(*rows, codes ? 8 + 4 + code_bytes * dim : 8 + 4 * dim) || !close(block)) return false;
      missing -= std::min<std::uint64_t>(missing, *rows);
    }
    return true;
  }

  bool fix_graph() {
    if (!skip(79) || !close(begin_ + magic_and_version)) return false;
    const bool has_rows = header<std::uint8_t>(78) == 1;
    return !has_rows || (fix_encoding() && fix_rows());
  }

  bool fix_encoding() {
    const std::size_t block = at_;
    const bool inner_product = header<std::uint8_t>(28) == 3;
    const std::size_t dim = header<std::uint32_t>(29) + std::size_t{inner_product};
    if (!skip(8) || !skip(dim, 4) || !skip(8)) return false;
    coded_ = take<std::uint32_t>().value_or(0);
    bits_ = take<std::uint8_t>().value_or(0);
    const bool basis = take<std::uint8_t>().value_or(0) == 1;
    if (coded_ > file_.size() || (basis && !skip(dim, 4 * round_up(coded_, 16)))) return false;
    if (!skip(take<std::uint32_t>().value_or(0), 4) || !skip(24)) return false;  // entry points
    const std::size_t curves = take<std::uint32_t>().value_or(0);
    for (std::size_t i = 0; i < std::min<std::size_t>(curves, 16); ++i) {
      if (!skip(4) || !skip(take<std::uint32_t>().value_or(0), 12)) return false;
    }
    return skip(8) && close(block);  // rows changed since the calibration
  }

  bool fix_rows() {
    constexpr std::size_t block_rows = 4096;
    const std::size_t dim = header<std::uint32_t>(29);
    const std::size_t degree = header<std::uint32_t>(33);
    const auto rows = header<std::uint64_t>(70);
    if (degree > 255 || rows > file_.size() || rows > block_rows) return false;
    const bool bytes_only = (header<std::uint64_t>(12) & 1U) != 0;
    const std::array<std::size_t, 4> row_bytes{8, round_up(8 + (coded_ * bits_ + 7) / 8, 64),
                                               round_up(4 + 1 + 2 * degree, 8),
                                               bytes_only ? 8 + round_up(dim, 4) : 4 * dim};
    std::array<std::size_t, 4> sections{};
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (!skip_padding()) return false;
      sections[i] = at_;
      if (!skip(rows, row_bytes[i])) return false;
    }
    if (!skip_padding()) return false;
    for (std::size_t i = 0; rows > 0 && i < sections.size(); ++i) {
      if (!has(sum_bytes)) return false;
      at_ = write_checksum(file_, sections[i], sections[i] + rows * row_bytes[i], at_);
    }
    return true;
  }

  bool skip_padding() { return skip(round_up(at_ - begin_, 64) - (at_ - begin_)); }
  static std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

  Bytes& file_;
  std::size_t begin_;  // of the present index: the parts of an "auto" index follow each other
  std::size_t at_;
  std::size_t coded_ = 0;  // coordinates of the graph's codes
  std::size_t bits_ = 0;
};

}  // namespace vectis::fuzz
