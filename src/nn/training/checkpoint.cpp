// Format, little-endian: "VECTISCK", version (u32); a block of feature bits and counts; a block of integers, numbers
// and texts; a block for each tensor of name, type, extents and elements. A block ends with its CRC32C as u64.
#include "vectis/nn/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/checksummed_stream.hpp"
#include "base/load_file.hpp"
#include "base/utf8.hpp"
#include "nn/check.hpp"
#include "nn/parsed_file.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view save_op = "save_checkpoint";
constexpr std::string_view load_op = "load_checkpoint";
constexpr std::string_view checkpoint_magic = "VECTISCK";
constexpr std::uint32_t checkpoint_version = 1;
constexpr std::size_t name_bytes_max = 4096;
constexpr std::size_t text_bytes_max = 1 << 20;

struct Counts {
  std::uint64_t integers = 0;
  std::uint64_t numbers = 0;
  std::uint64_t texts = 0;
  std::uint64_t tensors = 0;
};

[[noreturn]] void throw_corrupt_checkpoint(std::string_view what) { detail::throw_corrupt(what, load_op); }

void put_name(ByteWriter& out, std::string_view name) {
  if (name.size() > name_bytes_max) {
    throw_invalid(save_op, fmt::format("a name has {} bytes, at most {} are allowed; it begins with '{}'", name.size(),
                                       name_bytes_max, detail::cut_utf8(name, 64)));
  }
  out.put_string(name);
}

void put_values(ByteWriter& writer, const Checkpoint& checkpoint) {
  detail::ChecksumWriter out(writer);
  for (const auto& [name, value] : checkpoint.integers) {
    put_name(out, name);
    out.put(value);
  }
  for (const auto& [name, value] : checkpoint.numbers) {
    put_name(out, name);
    out.put(value);
  }
  for (const auto& [name, text] : checkpoint.texts) {
    put_name(out, name);
    if (text.size() > text_bytes_max) {
      throw_invalid(save_op, fmt::format("the text '{}' has {} bytes, at most {} are allowed", name, text.size(),
                                         text_bytes_max));
    }
    out.put_string(text);
  }
  out.close();
}

void put_tensor(ByteWriter& writer, const std::string& name, const Tensor& x) {
  detail::ChecksumWriter out(writer);
  put_name(out, name);
  out.put(static_cast<std::uint8_t>(x.dtype()));
  out.put(static_cast<std::uint8_t>(x.rank()));
  for (const std::int64_t extent : x.shape()) out.put(extent);
  std::vector<std::byte> elements(static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
  x.copy_to(elements, x.dtype());
  out.write(elements);
  out.close();
}

Counts read_checkpoint_header(ByteReader& reader) {
  std::array<char, checkpoint_magic.size()> begin{};
  reader.read(std::as_writable_bytes(std::span(begin)));
  if (std::string_view(begin.data(), begin.size()) != checkpoint_magic) {
    throw Error(ErrorCode::corrupt_data, load_op,
                "the first 8 bytes are not those of a checkpoint; pass a file that save_checkpoint wrote");
  }
  detail::validate_version(reader.get<std::uint32_t>(), checkpoint_version, load_op);
  detail::ChecksumReader in(reader, load_op);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  Counts counts;
  for (std::uint64_t* const count : {&counts.integers, &counts.numbers, &counts.texts, &counts.tensors}) {
    *count = in.get<std::uint64_t>();
  }
  in.close("checkpoint's header");
  detail::validate_features("reader", reader_features, 0, load_op);
  detail::validate_features("writer", writer_features, 0, load_op);
  return counts;
}

// Reads `count` names with values; names are in increasing order.
template <class Map, class Read>
void get_values(detail::ChecksumReader& in, std::uint64_t count, Map& values, Read read) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name = in.get_string(name_bytes_max);
    if (!values.empty() && values.rbegin()->first >= name) {
      throw_corrupt_checkpoint(fmt::format("the value '{}' is out of order", detail::cut_utf8(name, 64)));
    }
    auto value = read();
    values.emplace_hint(values.end(), std::move(name), std::move(value));
  }
}

std::optional<DType> tensor_type(std::uint8_t stored) noexcept {
  constexpr std::array types = {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int8,
                                DType::uint8,   DType::int32,   DType::int64,    DType::boolean};
  const auto* const found = std::ranges::find(types, static_cast<DType>(stored));
  return found == types.end() ? std::nullopt : std::optional(*found);
}

void get_tensor(ByteReader& reader, StateDict& tensors) {
  detail::ChecksumReader in(reader, load_op);
  std::string name = in.get_string(name_bytes_max);
  const auto stored_type = in.get<std::uint8_t>();
  const std::size_t rank = in.get<std::uint8_t>();
  const std::optional<DType> type = tensor_type(stored_type);
  if (!type || rank > Shape::rank_max || tensors.find(name) != nullptr) {
    throw_corrupt_checkpoint(fmt::format("'{}' has the element type {} and the rank {}, or occurs twice",
                                         detail::cut_utf8(name, 64), stored_type, rank));
  }
  Shape shape;
  for (std::size_t axis = 0; axis < rank; ++axis) shape.push_back(in.get<std::int64_t>());
  const std::vector<std::uint8_t> elements = in.read_array<std::uint8_t>(checked_bytes(load_op, shape, size_of(*type)));
  in.close("tensor of a checkpoint");
  if (*type == DType::boolean && std::ranges::any_of(elements, [](std::uint8_t byte) { return byte > 1; })) {
    throw_corrupt_checkpoint(fmt::format("an element of '{}' is neither 0 nor 1", detail::cut_utf8(name, 64)));
  }
  tensors.add(std::move(name), Tensor::from_bytes(std::as_bytes(std::span(elements)), *type, shape));
}

template <class Map>
const typename Map::mapped_type& value_of(const Map& values, std::string_view name) {
  const auto found = values.find(name);
  if (found != values.end()) return found->second;
  throw_invalid("checkpoint",
                fmt::format("there is no value '{}', but {} others; load a checkpoint of the same training", name,
                            values.size()));
}

}  // namespace

void Checkpoint::add(std::string_view prefix, const StateDict& state) {
  for (const auto& [name, value] : state) tensors.add(fmt::format("{}.{}", prefix, name), value);
}

StateDict Checkpoint::state(std::string_view prefix) const {
  StateDict state;
  for (const auto& [name, value] : tensors) {
    if (name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] == '.') {
      state.add(name.substr(prefix.size() + 1), value);
    }
  }
  return state;
}

std::int64_t Checkpoint::integer(std::string_view name) const { return value_of(integers, name); }
double Checkpoint::number(std::string_view name) const { return value_of(numbers, name); }

void save_checkpoint(ByteWriter& writer, const Checkpoint& checkpoint) {
  writer.write(std::as_bytes(std::span(checkpoint_magic)));
  writer.put(checkpoint_version);
  detail::ChecksumWriter out(writer);
  out.put(std::uint64_t{0});  // features that a reader must support: none yet
  out.put(std::uint64_t{0});  // features that a writer must support: none yet
  out.put(std::uint64_t{checkpoint.integers.size()});
  out.put(std::uint64_t{checkpoint.numbers.size()});
  out.put(std::uint64_t{checkpoint.texts.size()});
  out.put(std::uint64_t{checkpoint.tensors.size()});
  out.close();
  put_values(writer, checkpoint);
  for (const auto& [name, value] : checkpoint.tensors) put_tensor(writer, name, value);
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  AtomicFileWriter file(path);
  save_checkpoint(file, checkpoint);
  file.commit();
}

Checkpoint load_checkpoint(ByteReader& reader) {
  const Counts counts = read_checkpoint_header(reader);
  Checkpoint checkpoint;
  detail::ChecksumReader in(reader, load_op);
  get_values(in, counts.integers, checkpoint.integers, [&] { return in.get<std::int64_t>(); });
  get_values(in, counts.numbers, checkpoint.numbers, [&] { return in.get<double>(); });
  get_values(in, counts.texts, checkpoint.texts, [&] { return in.get_string(text_bytes_max); });
  in.close("checkpoint's values");
  for (std::uint64_t i = 0; i < counts.tensors; ++i) get_tensor(reader, checkpoint.tensors);
  return checkpoint;
}

Checkpoint load_checkpoint(const std::string& path) {
  return detail::load_file(load_op, path, [](ByteReader& reader) {
    Checkpoint checkpoint = load_checkpoint(reader);
    detail::validate_end(reader, load_op);
    return checkpoint;
  });
}

}  // namespace vectis::inline v0_1::nn
