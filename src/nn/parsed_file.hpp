// What the readers of data files share: mapped files, checked sizes, byte order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/load_file.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::nn {

// Throws CorruptData for the call `op`.
[[noreturn]] inline void throw_corrupt_file(std::string_view op, std::string_view what) {
  throw Error(ErrorCode::corrupt_data, op, fmt::format("{}; the data is corrupt, use another copy", what));
}

// Returns parse(bytes) for the bytes of the file at `path`. Throws Io when it cannot be mapped, and what `parse`
// throws; CorruptData and Unsupported name the path.
template <class Parse>
auto parse_file(std::string_view op, const std::string& path, Parse parse) {
  const MappedFile file(path);
  try {
    return parse(std::span<const std::byte>(file.bytes()));
  } catch (const Error& error) {
    detail::rethrow_with_path(op, path, error);
    throw;
  }
}

// The same for a function of text.
template <class Parse>
auto parse_text_file(std::string_view op, const std::string& path, Parse parse) {
  return parse_file(op, path, [&](std::span<const std::byte> bytes) {
    return parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  });
}

// Returns the bytes of an array of `shape` with elements of `element_bytes`. Throws CorruptData when an extent is
// negative, or the extents that are not 0 make more bytes than an array can have.
inline std::uint64_t checked_bytes(std::string_view op, const Shape& shape, std::size_t element_bytes) {
  // Half of what an array may have, since elements of 16 bits may become 32.
  constexpr std::uint64_t limit = std::uint64_t{1} << 55U;
  std::uint64_t bytes = element_bytes;
  bool is_empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && bytes > limit / static_cast<std::uint64_t>(extent))) {
      throw_corrupt_file(op, fmt::format("the shape {} is not that of an array", to_string(shape)));
    }
    if (extent == 0) is_empty = true;
    if (extent > 0) bytes *= static_cast<std::uint64_t>(extent);
  }
  return is_empty ? 0 : bytes;
}

// Throws CorruptData unless `found`, the bytes after a header, are those of the array that the header describes.
inline void check_payload(std::string_view op, const Shape& shape, std::size_t element_bytes, std::size_t found) {
  const std::uint64_t expected = checked_bytes(op, shape, element_bytes);
  if (expected == found) return;
  throw_corrupt_file(op, fmt::format("{} bytes follow the header, but an array of shape {} with elements of {} bytes "
                                     "has {}",
                                     found, to_string(shape), element_bytes, expected));
}

// Reverses the bytes of each element.
inline void swap_byte_order(std::span<std::byte> bytes, std::size_t element_bytes) noexcept {
  for (std::size_t at = 0; at + element_bytes <= bytes.size(); at += element_bytes) {
    std::ranges::reverse(bytes.subspan(at, element_bytes));
  }
}

}  // namespace vectis::inline v0_1::nn
