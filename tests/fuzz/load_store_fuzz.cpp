// Fuzzes VectorStore::load, and uses every store it accepts.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/index_checksums.hpp"
#include "vectis/base.hpp"
#include "vectis/store.hpp"

namespace vectis::fuzz {

namespace {

// Returns the offset after the text at `at`, or nothing when the text is truncated.
std::optional<std::size_t> skip_text(const Bytes& bytes, std::size_t at) {
  if (at + 8 > bytes.size()) return std::nullopt;
  const auto length = value_at<std::uint64_t>(bytes, at);
  if (length > bytes.size() - at - 8) return std::nullopt;
  return at + 8 + length;
}

// Returns the offset of the checksum of the record at `at`, or nothing when the record is truncated.
std::optional<std::size_t> record_end(const Bytes& bytes, std::size_t at) {
  constexpr std::size_t fixed_bytes = 3 + 4 + 8 + 8;
  std::optional<std::size_t> offset = at;
  const auto texts = [&](std::size_t count) {
    for (std::size_t i = 0; offset && i < count; ++i) offset = skip_text(bytes, *offset);
    return offset.has_value();
  };
  if (!texts(3)) return std::nullopt;
  *offset += fixed_bytes;
  if (!texts(2) || *offset + 4 > bytes.size()) return std::nullopt;
  const std::size_t devices = value_at<std::uint32_t>(bytes, *offset);
  *offset += 4;
  if (devices > 16 || !texts(2 * devices) || *offset + 8 > bytes.size()) return std::nullopt;
  return offset;
}

// An accepted store must work like any other.
void use(VectorStore& store) noexcept {
  const Bytes file = saved(store);
  MemoryReader reader(file);
  expect(saved(VectorStore::load(reader, runtime())) == file);
  for (const std::string& name : store.list_collections()) {
    Collection collection = store.collection(name);
    const CollectionMetadata about = collection.metadata();
    expect(about.name == name && about.vector_count == collection.size());
    if (about.config.dim > 64) continue;
    const bool approximate = about.config.index == "graph";
    const std::vector<float> query(about.config.dim, 0.5F);
    const SearchOptions options{.recall = approximate ? std::nullopt : std::optional(1.0)};
    const std::size_t hits = collection.search(query, 3, options)[0].size();
    const std::size_t expected = std::min<std::size_t>(3, collection.size());
    expect(approximate ? hits <= expected : hits == expected);
    try {
      const std::uint64_t id = collection.add(query);
      expect(approximate ? collection.get(id).has_value()
                         : collection.get(id) == query);  // a graph may hold codes only
      collection.upsert(std::vector<std::uint64_t>{id}, query);
      expect(collection.remove(id));
    } catch (const Error& error) {
      expect(error.code() == ErrorCode::invalid_input);  // no ids are left, or vectors_max is reached
    }
    expect(store.drop_collection(name));
  }
}

void read_and_use(BytesView file) {
  MemoryReader reader(file);
  VectorStore store = VectorStore::load(reader, runtime());
  use(store);
}

bool fix_checksums(Bytes& file) {
  constexpr std::size_t header_end = 8 + 4 + 24;
  if (header_end + 8 > file.size()) return false;
  std::optional<std::size_t> at = write_checksum(file, 12, header_end, header_end);
  while (at && *at < file.size()) {
    const auto end = record_end(file, *at);
    if (!end) return false;
    at = IndexChecksums(file, write_checksum(file, *at, *end, *end)).fix();
  }
  return at.has_value();
}

// Replaces the index of the only collection, of the kind "auto", by one with a graph, which the collection would build
// for far more vectors only.
Bytes with_graph(const Bytes& file) {
  const std::size_t index_begin = record_end(file, 8 + 4 + 24 + 8).value() + 8;
  MemoryReader reader(std::span(file).subspan(index_begin));
  const auto exact = load_index(reader, {.device = "cpu", .runtime = &runtime()});
  const auto graph = make_index("graph", exact->dim(), exact->metric(),
                                {.graph = GraphOptions{.degree = 4, .ef_construction = 16}, .runtime = &runtime()});
  for (std::uint64_t id = 0; id < exact->size(); ++id) graph->add(std::vector{id}, exact->get(id).value());
  MemoryWriter writer;
  writer.write(std::span(file).first(index_begin));
  writer.write(bytes_of("VECTISAU"));
  writer.put(std::uint32_t{1});
  writer.write(Bytes(24));  // features and their checksum
  exact->save(writer);
  graph->save(writer);
  Bytes joined(writer.bytes().begin(), writer.bytes().end());
  expect(fix_checksums(joined));
  return joined;
}

// Small stores in several states.
std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  VectorStore store(runtime());
  files.push_back(saved(store));
  store.create_collection("a", {.dim = 2});
  files.push_back(saved(store));
  store.collection("a").add(std::vector<float>{1, 2, 3, 4});
  store.create_collection("b", {.dim = 1,
                                .metric = Metric::cosine,
                                .index = "flat",
                                .precision = Precision::bf16,
                                .recall = 0.9,
                                .device = "cpu",
                                .vectors_max = 3,
                                .tenant = "t"});
  store.collection("b").add(std::vector<float>{5, 6});
  files.push_back(saved(store));
  for (const char* const kind : {"flat", "graph", "auto", "gpu"}) {
    VectorStore one(runtime());
    Collection collection = one.create_collection(kind, {.dim = 2, .index = kind, .device = "cpu"});
    files.push_back(saved(one));
    collection.add(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 9, 8, 3});
    files.push_back(saved(one));
    if (kind == std::string_view("auto")) files.push_back(with_graph(files.back()));
  }
  return files;
}

}  // namespace

const Target target{
    seeds,
    fix_checksums,
    read_and_use,
    {ErrorCode::corrupt_data, ErrorCode::unsupported, ErrorCode::backend_creation, ErrorCode::unsupported_backend}};

}  // namespace vectis::fuzz
