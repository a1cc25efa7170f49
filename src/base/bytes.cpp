#include "vectis/base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/crc32c.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t previous) noexcept {
  return detail::crc32c(bytes, static_cast<std::uint32_t>(previous));
}

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t previous) noexcept {
  constexpr std::uint64_t prime = 0x100000001b3ULL;
  for (const std::byte byte : bytes) previous = (previous ^ static_cast<std::uint64_t>(byte)) * prime;
  return previous;
}

void ByteWriter::put_string(std::string_view text) {
  put(std::uint64_t{text.size()});
  write(std::as_bytes(std::span(text)));
}

std::string ByteReader::get_string(std::size_t bytes_max) {
  const auto length = get<std::uint64_t>();
  if (length > bytes_max) {
    throw Error(ErrorCode::corrupt_data, "get_string",
                fmt::format("a string has {} bytes, at most {} were expected; the data is corrupt or of another format",
                            length, bytes_max));
  }
  std::string text;
  try {
    text.resize(static_cast<std::size_t>(length));
  } catch (const std::exception&) {  // std::bad_alloc or std::length_error
    throw Error(
        ErrorCode::allocation, "get_string",
        fmt::format("the host is out of memory for a string of {} bytes; free memory, or check the data", length));
  }
  read(std::as_writable_bytes(std::span(text)));
  return text;
}

bool ByteReader::get_flag() {
  const auto value = get<std::uint8_t>();
  if (value > 1) {
    throw Error(ErrorCode::corrupt_data, "get",
                fmt::format("a bool has the value {}, 0 or 1 was expected; the data is corrupt", value));
  }
  return value == 1;
}

void MemoryWriter::write(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

void MemoryReader::read(std::span<std::byte> target) {
  if (target.size() > remaining_.size()) {
    throw Error(ErrorCode::corrupt_data, "read",
                fmt::format("the data ends {} bytes too early, {} of {} bytes were left; it is truncated",
                            target.size() - remaining_.size(), remaining_.size(), target.size()));
  }
  std::copy_n(remaining_.begin(), target.size(), target.begin());
  remaining_ = remaining_.subspan(target.size());
}

}  // namespace vectis::inline v0_1
