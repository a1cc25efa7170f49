// IDX, the format of MNIST (Y. LeCun, C. Cortes): two zero bytes, the element type, the rank, the extents and the
// elements, all big-endian.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "nn/parsed_file.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view idx_op = "read_idx";
constexpr std::uint8_t type_of_16_bits = 0x0b;

std::optional<DType> type_of(std::uint8_t code) noexcept {
  switch (code) {
    case 0x08:
      return DType::uint8;
    case 0x09:
      return DType::int8;
    case 0x0c:
      return DType::int32;
    case 0x0d:
      return DType::float32;
    case 0x0e:
      return DType::float64;
    default:
      return std::nullopt;
  }
}

std::uint32_t big_endian_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = (value << 8U) | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

std::vector<std::int32_t> widened(std::span<const std::byte> elements) {
  std::vector<std::int32_t> wide(elements.size() / 2);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const auto bits = static_cast<std::uint16_t>((std::to_integer<std::uint32_t>(elements[2 * i]) << 8U) |
                                                 std::to_integer<std::uint32_t>(elements[2 * i + 1]));
    wide[i] = static_cast<std::int16_t>(bits);
  }
  return wide;
}

}  // namespace

Tensor parse_idx(std::span<const std::byte> bytes) {
  if (bytes.size() < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0}) {
    throw_corrupt_file(idx_op, "the first 4 bytes are not those of an IDX file, which must not be compressed");
  }
  const auto code = std::to_integer<std::uint8_t>(bytes[2]);
  const auto rank = std::to_integer<std::size_t>(bytes[3]);
  const std::optional<DType> type = type_of(code);
  if (!type && code != type_of_16_bits) {
    throw_corrupt_file(idx_op, fmt::format("{:#04x} is no element type of IDX", code));
  }
  const std::size_t header_bytes = 4 + 4 * rank;
  if (rank > Shape::rank_max || bytes.size() < header_bytes) {
    throw_corrupt_file(idx_op, fmt::format("the header of an array of rank {} does not end in {} bytes, or the rank is "
                                           "above {}",
                                           rank, bytes.size(), Shape::rank_max));
  }
  Shape shape;
  for (std::size_t axis = 0; axis < rank; ++axis) shape.push_back(big_endian_at(bytes, 4 + 4 * axis));
  const auto elements = bytes.subspan(header_bytes);
  check_payload(idx_op, shape, type ? size_of(*type) : 2, elements.size());
  if (!type) return Tensor::from_cpu(widened(elements), shape);
  if (size_of(*type) == 1) return Tensor::from_bytes(elements, *type, shape);
  std::vector<std::byte> native(elements.begin(), elements.end());
  swap_byte_order(native, size_of(*type));
  return Tensor::from_bytes(native, *type, shape);
}

Tensor read_idx(const std::string& path) { return parse_file(idx_op, path, parse_idx); }

}  // namespace vectis::inline v0_1::nn
