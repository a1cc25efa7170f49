// Fuzzes parse_pnm, and reads every image it accepts.
#include "tests/fuzz/fuzz.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::fuzz {

namespace {

// Its samples are the end of the file.
void use(const array::Tensor& image, BytesView file) noexcept {
  const std::vector<std::uint8_t> samples = image.transpose({1, 2, 0}).to_cpu<std::uint8_t>();
  expect(std::ranges::equal(std::as_bytes(std::span(samples)), file.last(samples.size())));
}

void read_and_use(BytesView file) { use(nn::parse_pnm(file), file); }

std::vector<Bytes> seeds() {
  return {bytes_of("P5 2 3 255\nabcdef"), bytes_of("P6\n# a comment\n1 2\n# another\n7\tabcdef"),
          bytes_of("P5\r\n1\r\n1\r\n1 a")};
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
