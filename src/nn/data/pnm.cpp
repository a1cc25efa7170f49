// Binary PGM and PPM images (Netpbm): "P5" or "P6", width, height and the largest sample as decimal numbers separated
// by white space and comments, one white space, and the samples of the pixels row by row.
#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "nn/parsed_file.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view pnm_op = "read_pnm";
constexpr std::int64_t pnm_extent_max = std::int64_t{1} << 24;

bool is_pnm_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Removes a number, and the white space and comments before it, from the beginning of `left`.
std::int64_t take_number(std::string_view& left) {
  while (!left.empty() && (is_pnm_space(left.front()) || left.front() == '#')) {
    left.remove_prefix(left.front() == '#' ? std::min(left.find('\n'), left.size()) : 1);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), number);
  if (error != std::errc() || number < 1 || number > pnm_extent_max) {
    throw_corrupt_file(pnm_op, fmt::format("the header does not have a number from 1 to {} {} bytes before the end",
                                           pnm_extent_max, left.size()));
  }
  left.remove_prefix(static_cast<std::size_t>(end - left.data()));
  return number;
}

// Returns samples from 0 to `sample_max` as ones from 0 to 255. Throws CorruptData for a larger one.
std::vector<std::uint8_t> scaled_samples(std::span<const std::byte> samples, std::int64_t sample_max) {
  std::vector<std::uint8_t> scaled;
  scaled.reserve(samples.size());
  for (const std::byte byte : samples) {
    const auto sample = std::to_integer<std::int64_t>(byte);
    if (sample > sample_max) {
      throw_corrupt_file(pnm_op, fmt::format("a sample is {}, but the largest one is {}", sample, sample_max));
    }
    scaled.push_back(static_cast<std::uint8_t>((sample * 255 + sample_max / 2) / sample_max));
  }
  return scaled;
}

}  // namespace

Tensor parse_pnm(std::span<const std::byte> bytes) {
  std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool is_color = left.starts_with("P6");
  if (!is_color && !left.starts_with("P5")) {
    throw_corrupt_file(pnm_op, "the first bytes are not those of a binary PGM or PPM file");
  }
  left.remove_prefix(2);
  const std::int64_t width = take_number(left);
  const std::int64_t height = take_number(left);
  const std::int64_t sample_max = take_number(left);
  if (sample_max > 255) {
    throw Error(ErrorCode::unsupported, pnm_op,
                fmt::format("samples up to {} have 16 bits; convert the image to 8 bits", sample_max));
  }
  if (left.empty() || !is_pnm_space(left.front())) throw_corrupt_file(pnm_op, "no white space follows the header");
  const auto samples = bytes.last(left.size() - 1);
  const Shape shape = {height, width, is_color ? 3 : 1};
  check_payload(pnm_op, shape, 1, samples.size());
  const Tensor pixels = sample_max == 255 ? Tensor::from_bytes(samples, DType::uint8, shape)
                                          : Tensor::from_cpu(scaled_samples(samples, sample_max), shape);
  return pixels.transpose({2, 0, 1});
}

Tensor read_pnm(const std::string& path) { return parse_file(pnm_op, path, parse_pnm); }

}  // namespace vectis::inline v0_1::nn
