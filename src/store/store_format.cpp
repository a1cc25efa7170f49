#include "store/store_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/checksummed_stream.hpp"
#include "base/utf8.hpp"
#include "vectis/base/error.hpp"
#include "vectis/store/vector_store.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view load_op = "load";
constexpr std::string_view store_magic = "VECTISVS";
constexpr std::uint32_t store_version = 1;
constexpr std::size_t reason_bytes_max = 65'536;
constexpr std::uint32_t devices_max = 1024;

// Bits of a record's flags: which optional fields of CollectionConfig are set.
enum : std::uint8_t { has_recall = 1, has_device = 2, has_vectors_max = 4, all_flags = 7 };

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= VectorStore::name_bytes_max && is_letter_or_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
}

void check_text(std::string_view op, std::string_view what, std::string_view text) {
  if (text.size() <= text_bytes_max) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} has {} bytes, at most {} are allowed; shorten it", what, text.size(), text_bytes_max));
}

}  // namespace

void check_name(std::string_view op, std::string_view name) {
  if (is_name(name)) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("'{}' is not a valid collection name; use 1 to {} letters, digits, '_', '-' and '.', "
                          "beginning with none of '-' and '.'",
                          detail::cut_utf8(name, VectorStore::name_bytes_max), VectorStore::name_bytes_max));
}

void check_config(std::string_view op, const CollectionConfig& config) {
  check_text(op, "the tenant", config.tenant);
  check_text(op, "the index kind", config.index);
  check_text(op, "the device", config.device.value_or(""));
  if (config.recall && !(*config.recall > 0 && *config.recall <= 1)) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("recall is {}, it must be above 0 and at most 1; 0.95 finds 95 of 100 nearest neighbors",
                            *config.recall));
  }
}

void throw_corrupt_store(std::string_view what) { throw_corrupt(what, load_op); }

void write_store_header(ByteWriter& writer, std::uint64_t collections) {
  writer.write(std::as_bytes(std::span(store_magic)));
  writer.put(store_version);
  ChecksumWriter out(writer);
  out.put(std::uint64_t{0});  // features that a reader must support: none yet
  out.put(std::uint64_t{0});  // features that a writer must support: none yet
  out.put(collections);
  out.close();
}

std::uint64_t read_store_header(ByteReader& reader) {
  std::array<char, store_magic.size()> begin{};
  reader.read(std::as_writable_bytes(std::span(begin)));
  if (std::string_view(begin.data(), begin.size()) != store_magic) {
    throw Error(ErrorCode::corrupt_data, load_op,
                "the first 8 bytes are not those of a saved vector store; pass a file that VectorStore::save wrote");
  }
  validate_version(reader.get<std::uint32_t>(), store_version, load_op);
  ChecksumReader in(reader, load_op);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  const auto collections = in.get<std::uint64_t>();
  in.close("store's header");
  validate_features("reader", reader_features, 0, load_op);
  validate_features("writer", writer_features, 0, load_op);
  if (collections > VectorStore::collections_max)
    throw_corrupt_store(fmt::format("the header counts {} collections, at most {} are allowed", collections,
                                    VectorStore::collections_max));
  return collections;
}

void write_record(ByteWriter& writer, const CollectionRecord& record) {
  const CollectionConfig& config = record.config;
  ChecksumWriter out(writer);
  out.put_string(record.name);
  out.put_string(config.tenant);
  out.put_string(config.index);
  out.put(static_cast<std::uint8_t>(config.metric));
  out.put(config.precision ? static_cast<std::uint8_t>(*config.precision) : std::uint8_t{0});
  out.put(static_cast<std::uint8_t>((config.recall ? has_recall : 0) | (config.device ? has_device : 0) |
                                    (config.vectors_max ? has_vectors_max : 0)));
  out.put(static_cast<std::uint32_t>(config.dim));
  out.put(config.recall.value_or(0));
  out.put(config.vectors_max.value_or(0));
  out.put_string(config.device.value_or(""));
  out.put_string(detail::cut_utf8(record.reason, reason_bytes_max));
  out.put(static_cast<std::uint32_t>(record.devices.size()));
  for (const DeviceRecord& device : record.devices) {
    out.put_string(device.label);
    out.put_string(device.name);
  }
  out.close();
}

CollectionRecord read_record(ByteReader& reader) {
  ChecksumReader in(reader, load_op);
  CollectionRecord record;
  CollectionConfig& config = record.config;
  record.name = in.get_string(text_bytes_max);
  config.tenant = in.get_string(text_bytes_max);
  config.index = in.get_string(text_bytes_max);
  const auto metric = in.get<std::uint8_t>();
  const auto precision = in.get<std::uint8_t>();
  const auto flags = in.get<std::uint8_t>();
  config.dim = in.get<std::uint32_t>();
  config.recall = in.get<double>();
  config.vectors_max = in.get<std::uint64_t>();
  config.device = in.get_string(text_bytes_max);
  record.reason = in.get_string(reason_bytes_max);
  const auto devices = in.get<std::uint32_t>();
  if (devices > devices_max)
    throw_corrupt_store(fmt::format("a record counts {} devices, at most {} are allowed", devices, devices_max));
  for (std::uint32_t i = 0; i < devices; ++i) {
    std::string label = in.get_string(text_bytes_max);
    record.devices.push_back({std::move(label), in.get_string(text_bytes_max)});
  }
  in.close("collection's record");

  config.metric = static_cast<Metric>(metric);
  if (!std::ranges::count(all_metrics(), config.metric)) throw_corrupt_store(fmt::format("{} is no metric", metric));
  if (precision > 4) throw_corrupt_store(fmt::format("{} is no precision", precision));
  if (precision != 0) config.precision = static_cast<Precision>(precision);
  if (flags > all_flags) throw_corrupt_store(fmt::format("{:#x} has unknown flags", flags));
  if ((flags & has_recall) == 0) config.recall.reset();
  if ((flags & has_device) == 0) config.device.reset();
  if ((flags & has_vectors_max) == 0) config.vectors_max.reset();
  try {
    check_name(load_op, record.name);
    check_config(load_op, config);
  } catch (const Error& error) {
    throw_corrupt_store(error.what());
  }
  return record;
}

}  // namespace vectis::inline v0_1::detail
