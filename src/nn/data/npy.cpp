// NumPy's .npy format (NEP 1): magic, version, the length of a header, which is a Python dictionary, and the elements.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "nn/parsed_file.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/file.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view npy_op = "read_npy";
constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::size_t header_bytes_max = 1 << 20;
constexpr std::size_t npy_alignment = 64;  // of the elements in a file that NumPy writes

constexpr std::array<std::pair<std::string_view, DType>, 8> npy_types = {{{"f4", DType::float32},
                                                                          {"f2", DType::float16},
                                                                          {"f8", DType::float64},
                                                                          {"i1", DType::int8},
                                                                          {"u1", DType::uint8},
                                                                          {"i4", DType::int32},
                                                                          {"i8", DType::int64},
                                                                          {"b1", DType::boolean}}};

struct Header {
  std::string_view type;  // "<f4"
  bool is_fortran = false;
  Shape shape;
};

// Reads the dictionary of a header. The subset of Python that NumPy writes: strings, True and False, tuples of
// integers.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : left_(text) {}

  Header parse() {
    Header header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        header.type = string();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.is_fortran = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header.shape = tuple();
      } else {
        fail();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!has_type || !has_order || !has_shape || !left_.empty()) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const {
    throw_corrupt_file(npy_op, fmt::format("the header is not the dictionary of an array, {} characters before its end",
                                           left_.size()));
  }
  void skip_spaces() noexcept {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\n')) left_.remove_prefix(1);
  }
  bool take(char c) noexcept {
    skip_spaces();
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string_view string() {
    skip_spaces();
    if (left_.empty() || (left_.front() != '\'' && left_.front() != '"')) fail();
    const std::size_t end = left_.find(left_.front(), 1);
    if (end == std::string_view::npos) fail();
    const std::string_view text = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return value;
    }
    fail();
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!take(')')) {
      skip_spaces();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), extent);
      if (error != std::errc() || shape.rank() == Shape::rank_max) fail();
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
      shape.push_back(extent);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view left_;
};

DType type_of(std::string_view text) {
  for (const auto& [name, type] : npy_types) {
    if (text.empty() || text.substr(1) != name) continue;
    const char order = text.front();
    if (order == '<' || order == '>' || (order == '|' && size_of(type) == 1)) return type;
  }
  throw Error(ErrorCode::unsupported, npy_op,
              fmt::format("'{}' is not an element type of arrays; convert it in NumPy, for instance by "
                          ".astype('float32')",
                          text.substr(0, 64)));
}

// Returns the header's text and the position of the elements.
std::pair<std::string_view, std::size_t> split_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(npy_magic) || bytes.size() < 10) {
    throw_corrupt_file(npy_op, "the first bytes are not those of a .npy file");
  }
  const auto version = std::to_integer<unsigned>(bytes[6]);
  if (version < 1 || version > 3) {
    throw Error(ErrorCode::unsupported, npy_op,
                fmt::format(".npy version {}, but versions 1 to 3 are known; save it with numpy.save()", version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin) throw_corrupt_file(npy_op, "the header is truncated");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::size_t>(bytes[8 + i]) << (8 * i);
  if (length > header_bytes_max || length > bytes.size() - begin) {
    throw_corrupt_file(npy_op, fmt::format("a header of {} bytes is longer than the file or the limit of {}", length,
                                           header_bytes_max));
  }
  return {text.substr(begin, length), begin + length};
}

std::string_view spelling(DType type) {
  for (const auto& [name, known] : npy_types) {
    if (known == type) return name;
  }
  throw Error(ErrorCode::unsupported, "write_npy",
              fmt::format("NumPy has no {}; convert the array by astype() first", name(type)));
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes) {
  const auto [text, begin] = split_header(bytes);
  const Header header = HeaderParser(text).parse();
  const DType type = type_of(header.type);
  const auto elements = bytes.subspan(begin);
  check_payload(npy_op, header.shape, size_of(type), elements.size());
  if (type == DType::boolean && std::ranges::any_of(elements, [](std::byte b) { return b > std::byte{1}; })) {
    throw_corrupt_file(npy_op, "an element of type bool is neither 0 nor 1");
  }
  Shape stored = header.shape;
  if (header.is_fortran) std::ranges::reverse(stored);
  Tensor array;
  if (header.type.front() == '>' && size_of(type) > 1) {
    std::vector<std::byte> native(elements.begin(), elements.end());
    swap_byte_order(native, size_of(type));
    array = Tensor::from_bytes(native, type, stored);
  } else {
    array = Tensor::from_bytes(elements, type, stored);
  }
  return header.is_fortran ? array.transpose() : array;
}

Tensor read_npy(const std::string& path) { return parse_file(npy_op, path, parse_npy); }

void write_npy(ByteWriter& writer, const Tensor& x) {
  const DType type = x.dtype();
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                   size_of(type) == 1 ? '|' : '<', spelling(type), to_string(x.shape()));
  constexpr std::size_t before = 10;
  header.append((npy_alignment - (before + header.size() + 1) % npy_alignment) % npy_alignment, ' ');
  header += '\n';
  std::vector<std::byte> elements(static_cast<std::size_t>(x.elements()) * size_of(type));
  x.copy_to(elements, type);
  writer.write(std::as_bytes(std::span(npy_magic)));
  writer.put(std::uint8_t{1});
  writer.put(std::uint8_t{0});
  writer.put(static_cast<std::uint16_t>(header.size()));
  writer.write(std::as_bytes(std::span(header)));
  writer.write(elements);
}

void write_npy(const std::string& path, const Tensor& x) {
  AtomicFileWriter file(path);
  write_npy(file, x);
  file.commit();
}

}  // namespace vectis::inline v0_1::nn
