#include "store/store_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "search/exact/summed.hpp"
#include "vectis/base/error.hpp"
#include "vectis/store/vector_store.hpp"

namespace vectis::inline v0_1::detail {

namespace {

using exact::SummingReader;
using exact::SummingWriter;

constexpr std::string_view store_loading = "load";
constexpr std::string_view store_magic = "VECTISVS";
constexpr std::uint32_t store_version = 1;
constexpr std::size_t reason_bytes_max = 65'536;
constexpr std::uint32_t devices_max = 1024;

enum : std::uint8_t { has_recall = 1, has_device = 2, has_vectors_max = 4, all_flags = 7 };

}  // namespace

void damaged_store(std::string_view what) { exact::damaged(what, store_loading); }

void write_store_header(ByteWriter& writer, std::uint64_t collections) {
  writer.write(std::as_bytes(std::span(store_magic)));
  writer.put(store_version);
  SummingWriter out(writer);
  out.put(std::uint64_t{0});  // what a reader must know: nothing yet
  out.put(std::uint64_t{0});  // what a writer must know: nothing yet
  out.put(collections);
  out.close();
}

std::uint64_t read_store_header(ByteReader& reader) {
  std::array<char, store_magic.size()> begin{};
  reader.read(std::as_writable_bytes(std::span(begin)));
  if (std::string_view(begin.data(), begin.size()) != store_magic) {
    damaged_store("it does not begin with the mark of a vector store");
  }
  exact::refuse_version(reader.get<std::uint32_t>(), store_version, store_loading);
  SummingReader in(reader, store_loading);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  const auto collections = in.get<std::uint64_t>();
  in.close("store's header");
  exact::refuse_features("reader", reader_features, 0, store_loading);
  exact::refuse_features("writer", writer_features, 0, store_loading);
  if (collections > VectorStore::collections_max) damaged_store(fmt::format("{} collections", collections));
  return collections;
}

void write_record(ByteWriter& writer, const CollectionRecord& record) {
  const CollectionConfig& config = record.config;
  SummingWriter out(writer);
  out.put_string(record.name);
  out.put_string(config.tenant);
  out.put_string(config.index);
  out.put(static_cast<std::uint8_t>(config.distance));
  out.put(config.precision ? static_cast<std::uint8_t>(*config.precision) : std::uint8_t{0});
  out.put(static_cast<std::uint8_t>((config.recall ? has_recall : 0) | (config.device ? has_device : 0) |
                                    (config.vectors_max ? has_vectors_max : 0)));
  out.put(static_cast<std::uint32_t>(config.dim));
  out.put(config.recall.value_or(0));
  out.put(config.vectors_max.value_or(0));
  out.put_string(config.device.value_or(""));
  out.put_string(std::string_view(record.reason).substr(0, reason_bytes_max));
  out.put(static_cast<std::uint32_t>(record.devices.size()));
  for (const DeviceRecord& device : record.devices) {
    out.put_string(device.label);
    out.put_string(device.name);
  }
  out.close();
}

CollectionRecord read_record(ByteReader& reader) {
  SummingReader in(reader, store_loading);
  CollectionRecord record;
  CollectionConfig& config = record.config;
  record.name = in.get_string(text_bytes_max);
  config.tenant = in.get_string(text_bytes_max);
  config.index = in.get_string(text_bytes_max);
  const auto distance = in.get<std::uint8_t>();
  const auto precision = in.get<std::uint8_t>();
  const auto flags = in.get<std::uint8_t>();
  config.dim = in.get<std::uint32_t>();
  config.recall = in.get<double>();
  config.vectors_max = in.get<std::uint64_t>();
  config.device = in.get_string(text_bytes_max);
  record.reason = in.get_string(reason_bytes_max);
  const auto devices = in.get<std::uint32_t>();
  if (devices > devices_max) damaged_store(fmt::format("a collection on {} devices", devices));
  for (std::uint32_t i = 0; i < devices; ++i) {
    std::string label = in.get_string(text_bytes_max);
    record.devices.push_back({std::move(label), in.get_string(text_bytes_max)});
  }
  in.close("collection's record");

  config.distance = static_cast<Metric>(distance);
  if (!std::ranges::count(all_metrics(), config.distance))
    damaged_store(fmt::format("there is no distance {}", distance));
  if (precision > 4) damaged_store(fmt::format("there is no precision {}", precision));
  if (precision != 0) config.precision = static_cast<Precision>(precision);
  if (flags > all_flags) damaged_store(fmt::format("there is no option {}", flags));
  if ((flags & has_recall) == 0) config.recall.reset();
  if ((flags & has_device) == 0) config.device.reset();
  if ((flags & has_vectors_max) == 0) config.vectors_max.reset();
  try {
    check_name(store_loading, record.name);
    check_config(store_loading, config);
  } catch (const Error& error) {
    damaged_store(error.what());
  }
  return record;
}

}  // namespace vectis::inline v0_1::detail
