// Fuzzes parse_idx, and reads every array it accepts.
#include "tests/fuzz/fuzz.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::fuzz {

namespace {

// Its elements are as many as the file has.
void use(const array::Tensor& x, BytesView file) noexcept {
  std::vector<std::byte> elements(static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
  x.copy_to(elements, x.dtype());
  expect(elements.size() <= 2 * file.size());  // elements of 16 bits become int32
}

void read_and_use(BytesView file) { use(nn::parse_idx(file), file); }

std::vector<Bytes> seeds() {
  using std::string_view_literals::operator""sv;
  return {bytes_of("\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
                   "abcdef"sv),
          bytes_of("\0\0\x0b\x01\0\0\0\x02"
                   "abcd"sv),
          bytes_of("\0\0\x0d\x01\0\0\0\x01"
                   "abcd"sv),
          bytes_of("\0\0\x0e\0"
                   "abcdefgh"sv),
          bytes_of("\0\0\x09\x02\0\0\0\0\0\0\0\x05"sv)};
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data}};

}  // namespace vectis::fuzz
