// Fuzzes parse_safetensors, and saves every content it accepts.
#include "tests/fuzz/fuzz.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/safetensors.hpp"

namespace vectis::fuzz {

namespace {

Bytes saved_safetensors(const nn::StateDict& tensors, const nn::SafeTensorsMetadata& metadata) {
  MemoryWriter writer;
  nn::save_safetensors(writer, tensors, metadata);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// What is written is read as the same tensors and texts.
void use(const nn::SafeTensors& content) noexcept {
  const Bytes file = saved_safetensors(content.tensors, content.metadata);
  const nn::SafeTensors copy = nn::parse_safetensors(file);
  expect(copy.tensors.size() == content.tensors.size() && copy.metadata == content.metadata);
  for (const auto& [name, tensor] : content.tensors) {
    expect(copy.tensors.at(name).shape() == tensor.shape() && copy.tensors.at(name).dtype() == tensor.dtype());
  }
  expect(saved_safetensors(copy.tensors, copy.metadata) == file);
}

void read_and_use(BytesView file) { use(nn::parse_safetensors(file)); }

// A header of another program, with elements that are all 0.
Bytes file_with(std::string_view header, std::size_t data_bytes) {
  MemoryWriter writer;
  writer.put(std::uint64_t{header.size()});
  writer.write(std::as_bytes(std::span(header)));
  writer.write(Bytes(data_bytes));
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::vector<Bytes> seeds() {
  const array::Tensor x = array::arange(0, 6).reshape({2, 3});
  nn::StateDict all;
  std::vector<Bytes> files = {saved_safetensors({}, {}), saved_safetensors({}, {{"format", "pt"}, {"\n", "\"\\"}})};
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int8, DType::uint8,
                           DType::int32, DType::int64, DType::boolean}) {
    nn::StateDict one;
    one.add("x", x.astype(type));
    files.push_back(saved_safetensors(one, {}));
    all.add(std::string(name(type)), x.astype(type));
  }
  all.add("scalar", array::zeros({}));
  all.add("none", array::zeros({0, 7}));
  files.push_back(saved_safetensors(all, {{"format", "pt"}}));
  files.push_back(
      file_with("{ \"b\\u00e4\":{\"shape\":[2],\"data_offsets\":[1,3],\"dtype\":\"I8\"},\n"
                " \"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}",
                3));
  return files;
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
