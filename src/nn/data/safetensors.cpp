// The format: the length of the header (u64, little-endian), the header, which is a JSON object, and the elements of
// all tensors without gaps. The header has a member for each tensor:
// {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, whose offsets count from the end of the header. The member
// "__metadata__" has texts.
#include "vectis/nn/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "nn/check.hpp"
#include "nn/parsed_file.hpp"
#include "nn/text/json_value.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view load_op = "load_safetensors";
constexpr std::string_view save_op = "save_safetensors";
constexpr std::string_view metadata_name = "__metadata__";
constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::size_t header_bytes_max = 100'000'000;  // the format's limit
constexpr std::size_t header_alignment = 8;
// An object of objects with arrays.
constexpr JsonLimits header_limits = {.depth = 3, .elements = Shape::rank_max};

// Every type of arrays, in the order in which Hugging Face's library writes tensors.
constexpr std::array<std::pair<std::string_view, DType>, 9> safetensors_types = {{{"I64", DType::int64},
                                                                                  {"F64", DType::float64},
                                                                                  {"F32", DType::float32},
                                                                                  {"I32", DType::int32},
                                                                                  {"BF16", DType::bfloat16},
                                                                                  {"F16", DType::float16},
                                                                                  {"I8", DType::int8},
                                                                                  {"U8", DType::uint8},
                                                                                  {"BOOL", DType::boolean}}};

struct HeaderEntry {
  std::string_view name;
  DType type = DType::float32;
  Shape shape;
  std::uint64_t begin = 0;  // offset of the elements after the header
  std::uint64_t end = 0;
};

[[noreturn]] void throw_corrupt_header(std::string_view what) { throw_corrupt_file(load_op, what); }
[[noreturn]] void throw_corrupt_entry(std::string_view name, std::string_view what) {
  throw_corrupt_header(fmt::format("the tensor '{}' {}", detail::cut_utf8(name, 64), what));
}

// Returns the header's text, and the elements after it.
std::pair<std::string_view, std::span<const std::byte>> split_file(std::span<const std::byte> bytes) {
  if (bytes.size() < length_bytes) {
    throw_corrupt_header(
        fmt::format("the file has {} bytes, fewer than the {} of its header's length", bytes.size(), length_bytes));
  }
  const auto length = MemoryReader(bytes).get<std::uint64_t>();
  const std::span<const std::byte> rest = bytes.subspan(length_bytes);
  if (length > header_bytes_max) {
    throw_corrupt_header(fmt::format("a header of {} bytes is longer than the limit of {}", length, header_bytes_max));
  }
  if (length > rest.size()) {
    throw_corrupt_header(
        fmt::format("a header of {} bytes is longer than the {} bytes after its length", length, rest.size()));
  }
  const auto header = rest.first(static_cast<std::size_t>(length));
  return {{reinterpret_cast<const char*>(header.data()), header.size()}, rest.subspan(header.size())};
}

SafeTensorsMetadata metadata_of(const JsonValue& value) {
  const JsonObject* const members = value.object();
  if (members == nullptr) {
    throw_corrupt_header(fmt::format("{} is {}, not an object", metadata_name, value.kind_name()));
  }
  SafeTensorsMetadata metadata;
  for (const auto& [name, text] : *members) {
    if (text.string() == nullptr) {
      throw_corrupt_header(
          fmt::format("'{}' in {} is {}, not a string", detail::cut_utf8(name, 64), metadata_name, text.kind_name()));
    }
    metadata.emplace(name, *text.string());
  }
  return metadata;
}

// Reads the member of one tensor.
class EntryReader {
 public:
  EntryReader(std::string_view name, const JsonValue& value) : name_(name), value_(value) {}

  HeaderEntry read() const {
    if (name_.empty()) throw_corrupt_header("the name of a tensor is empty");
    check_members();
    const JsonValue::Array& offsets = numbers("data_offsets");
    if (offsets.size() != 2) throw_corrupt_entry(name_, fmt::format("has {} data_offsets, not 2", offsets.size()));
    HeaderEntry entry{name_, type(), {}, count("offset", offsets[0]), count("offset", offsets[1])};
    for (const JsonValue& extent : numbers("shape")) {
      entry.shape.push_back(static_cast<std::int64_t>(count("extent", extent)));
    }
    return entry;
  }

 private:
  void check_members() const {
    const JsonObject* const members = value_.object();
    if (members == nullptr) throw_corrupt_entry(name_, fmt::format("is {}, not an object", value_.kind_name()));
    for (const auto& [key, value] : *members) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        throw_corrupt_entry(name_, fmt::format("has the unknown member '{}'", detail::cut_utf8(key, 64)));
      }
    }
  }
  const JsonValue& member(std::string_view key) const {
    const JsonValue* const found = value_.find(key);
    if (found == nullptr) throw_corrupt_entry(name_, fmt::format("has no {}", key));
    return *found;
  }
  const JsonValue::Array& numbers(std::string_view key) const {
    const JsonValue& found = member(key);
    if (found.array() == nullptr) {
      throw_corrupt_entry(name_, fmt::format("has a {} that is {}, not an array", key, found.kind_name()));
    }
    return *found.array();
  }
  std::uint64_t count(std::string_view what, const JsonValue& value) const {
    const std::optional<std::int64_t> number = value.integer();
    if (!number || *number < 0) {
      throw_corrupt_entry(name_, fmt::format("has an {} that is {}, not an integer from 0 to {}", what,
                                             number ? fmt::to_string(*number) : std::string(value.kind_name()),
                                             std::numeric_limits<std::int64_t>::max()));
    }
    return static_cast<std::uint64_t>(*number);
  }
  DType type() const {
    const JsonValue& found = member("dtype");
    if (found.string() == nullptr) {
      throw_corrupt_entry(name_, fmt::format("has a dtype that is {}, not a string", found.kind_name()));
    }
    const auto* const known =
        std::ranges::find(safetensors_types, *found.string(), [](const auto& pair) { return pair.first; });
    if (known != safetensors_types.end()) return known->second;
    throw Error(ErrorCode::unsupported, load_op,
                fmt::format("the tensor '{}' has the element type '{}', which arrays do not have; convert it before it "
                            "is saved, for instance to F32",
                            detail::cut_utf8(name_, 64), detail::cut_utf8(*found.string(), 64)));
  }

  std::string_view name_;
  const JsonValue& value_;
};

// Returns the tensors in the order of their elements, those without elements by name. The names are those in `header`.
std::vector<HeaderEntry> entries_of(const JsonObject& header) {
  std::vector<HeaderEntry> entries;
  for (const auto& [name, value] : header) {
    if (name != metadata_name) entries.push_back(EntryReader(name, value).read());
  }
  std::ranges::sort(entries, {},
                    [](const HeaderEntry& entry) { return std::tuple(entry.begin, entry.end, entry.name); });
  return entries;
}

// Throws CorruptData unless the tensors are the bytes after the header: what no tensor has could be anything, such as
// another file.
void check_layout(const std::vector<HeaderEntry>& entries, std::size_t bytes) {
  std::uint64_t end = 0;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin != end) {
      throw_corrupt_entry(entry.name,
                          fmt::format("begins at offset {}, but the elements before it end at {}", entry.begin, end));
    }
    if (entry.end < entry.begin || entry.end > bytes) {
      throw_corrupt_entry(entry.name,
                          fmt::format("ends at offset {}, which is not from {} to {}", entry.end, entry.begin, bytes));
    }
    const std::uint64_t expected = checked_bytes(load_op, entry.shape, size_of(entry.type));
    if (entry.end - entry.begin != expected) {
      throw_corrupt_entry(entry.name,
                          fmt::format("has {} bytes, but a {} array of shape {} has {}", entry.end - entry.begin,
                                      name(entry.type), to_string(entry.shape), expected));
    }
    end = entry.end;
  }
  if (end != bytes) throw_corrupt_header(fmt::format("{} bytes follow the last tensor", bytes - end));
}

Tensor tensor_in(std::span<const std::byte> bytes, const HeaderEntry& entry, const array::TensorOptions& where) {
  const auto elements =
      bytes.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
  if (entry.type == DType::boolean && std::ranges::any_of(elements, [](std::byte b) { return b > std::byte{1}; })) {
    throw_corrupt_entry(entry.name, "has an element of type BOOL that is neither 0 nor 1");
  }
  return Tensor::from_bytes(elements, entry.type, entry.shape, where);
}

std::size_t type_index(const Tensor& x) {
  const auto* const found =
      std::ranges::find(safetensors_types, x.dtype(), [](const auto& pair) { return pair.second; });
  return static_cast<std::size_t>(found - safetensors_types.begin());
}

std::vector<const StateDict::Entry*> in_file_order(const StateDict& state) {
  std::vector<const StateDict::Entry*> ordered;
  for (const StateDict::Entry& entry : state) ordered.push_back(&entry);
  std::ranges::sort(ordered, {}, [](const StateDict::Entry* entry) {
    return std::pair(type_index(entry->second), std::string_view(entry->first));
  });
  return ordered;
}

// Returns `text`, which is named `what` in errors, as a JSON string.
std::string quoted(std::string_view what, std::string_view text) {
  if (detail::is_utf8(text)) return json_string(text);
  throw_invalid(save_op,
                fmt::format("{} {} is not UTF-8; encode it so", what, detail::cut_utf8(json_string(text), 64)));
}

std::string metadata_member(const SafeTensorsMetadata& metadata) {
  std::vector<std::string> members;
  for (const auto& [name, text] : metadata) {
    members.push_back(fmt::format("{}:{}", quoted("the name of the text", name), quoted("the text", text)));
  }
  return fmt::format(R"("{}":{{{}}})", metadata_name, fmt::join(members, ","));
}

std::string header_of(const std::vector<const StateDict::Entry*>& entries, const SafeTensorsMetadata& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) members.push_back(metadata_member(metadata));
  std::uint64_t begin = 0;
  for (const auto* const entry : entries) {
    const auto& [name, x] = *entry;
    if (name.empty() || name == metadata_name) {
      throw_invalid(save_op, fmt::format("'{}' cannot be the name of a tensor; give it another", name));
    }
    const std::uint64_t end = begin + static_cast<std::uint64_t>(x.elements()) * size_of(x.dtype());
    members.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  quoted("the name", name), safetensors_types.at(type_index(x)).first,
                                  fmt::join(x.shape(), ","), begin, end));
    begin = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(members, ","));
  header.append((header_alignment - header.size() % header_alignment) % header_alignment, ' ');
  if (header.size() > header_bytes_max) {
    throw_invalid(save_op,
                  fmt::format("the header of {} tensors and {} texts has {} bytes, at most {} are allowed; save "
                              "them in several files",
                              entries.size(), metadata.size(), header.size(), header_bytes_max));
  }
  return header;
}

}  // namespace

SafeTensors parse_safetensors(std::span<const std::byte> bytes, const array::TensorOptions& where) {
  const auto [text, elements] = split_file(bytes);
  if (!text.starts_with('{')) throw_corrupt_header("the header does not begin with '{'");
  const JsonValue header = JsonValue::parse(load_op, text, header_limits);
  SafeTensors content;
  if (const JsonValue* const metadata = header.find(metadata_name)) content.metadata = metadata_of(*metadata);
  const std::vector<HeaderEntry> entries = entries_of(*header.object());
  check_layout(entries, elements.size());
  for (const HeaderEntry& entry : entries) {
    content.tensors.add(std::string(entry.name), tensor_in(elements, entry, where));
  }
  return content;
}

SafeTensors read_safetensors(const std::string& path, const array::TensorOptions& where) {
  return parse_file(load_op, path, [&](std::span<const std::byte> bytes) { return parse_safetensors(bytes, where); });
}

StateDict load_safetensors(const std::string& path, const array::TensorOptions& where) {
  return read_safetensors(path, where).tensors;
}

void save_safetensors(ByteWriter& writer, const StateDict& state, const SafeTensorsMetadata& metadata) {
  const std::vector<const StateDict::Entry*> entries = in_file_order(state);
  const std::string header = header_of(entries, metadata);
  writer.put(std::uint64_t{header.size()});
  writer.write(std::as_bytes(std::span(header)));
  for (const auto* const entry : entries) {
    const Tensor& x = entry->second;
    std::vector<std::byte> elements(static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
    x.copy_to(elements, x.dtype());
    writer.write(elements);
  }
}

void save_safetensors(const std::string& path, const StateDict& state, const SafeTensorsMetadata& metadata) {
  AtomicFileWriter file(path);
  save_safetensors(file, state, metadata);
  file.commit();
}

}  // namespace vectis::inline v0_1::nn
