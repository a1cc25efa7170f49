// Fuzzes parse_pnm, and reads every image it accepts.
#include <array>
#include <optional>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::fuzz {

namespace {

// Its samples are the end of the file, or those scaled: equal ones are equal, and larger ones are not smaller.
void use(const array::Tensor& image, BytesView file) noexcept {
  const std::vector<std::uint8_t> samples = image.transpose({1, 2, 0}).to_cpu<std::uint8_t>();
  const BytesView stored = file.last(samples.size());
  std::array<std::optional<std::uint8_t>, 256> scaled;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto& value = scaled.at(std::to_integer<std::size_t>(stored[i]));
    expect(value.value_or(samples[i]) == samples[i]);
    value = samples[i];
  }
  std::uint8_t largest = 0;
  for (const auto& value : scaled) {
    expect(value.value_or(largest) >= largest);
    largest = value.value_or(largest);
  }
}

void read_and_use(BytesView file) { use(nn::parse_pnm(file), file); }

std::vector<Bytes> seeds() {
  return {bytes_of("P5 2 3 255\nabcdef"), bytes_of("P6\n# a comment\n1 2\n# another\n7\t\1\2\3\4\5\7"),
          bytes_of("P5\r\n1\r\n1\r\n1 \1")};
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
