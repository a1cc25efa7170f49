// Fuzzes parse_npy, and writes every array it accepts.
#include <cstring>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::fuzz {

namespace {

Bytes npy_of(const array::Tensor& x) {
  MemoryWriter writer;
  nn::write_npy(writer, x);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// What is written is read as the same array.
void use(const array::Tensor& x) noexcept {
  const Bytes file = npy_of(x);
  const array::Tensor copy = nn::parse_npy(file);
  expect(copy.shape() == x.shape() && copy.dtype() == x.dtype());
  expect(npy_of(copy) == file);
}

void read_and_use(BytesView file) { use(nn::parse_npy(file)); }

std::vector<Bytes> seeds() {
  const array::Tensor x = array::arange(0, 6).reshape({2, 3});
  std::vector<Bytes> files;
  for (const DType type : {DType::float32, DType::float16, DType::float64, DType::int8, DType::uint8, DType::int32,
                           DType::int64, DType::boolean}) {
    files.push_back(npy_of(x.astype(type)));
  }
  files.push_back(npy_of(array::zeros({})));
  files.push_back(npy_of(array::zeros({0, 7})));
  // Version 2 of the format, in Fortran order and big-endian.
  std::string_view header = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }\n";
  Bytes second = bytes_of("\x93NUMPY\x02");
  second.resize(12);
  const auto length = static_cast<std::uint32_t>(header.size());
  std::memcpy(second.data() + 8, &length, sizeof(length));
  const Bytes rest = bytes_of(header);
  second.insert(second.end(), rest.begin(), rest.end());
  second.resize(second.size() + 24);
  files.push_back(second);
  return files;
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
