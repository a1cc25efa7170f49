// Fuzzes VectorStore::load, and uses every store it accepts.
#include <optional>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
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

Bytes saved(const VectorStore& store) {
  MemoryWriter writer;
  store.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// An accepted store must work like any other.
void use(VectorStore& store) {
  const Bytes file = saved(store);
  MemoryReader reader(file);
  expect(saved(VectorStore::load(reader, runtime())) == file);
  for (const std::string& name : store.list_collections()) {
    Collection collection = store.collection(name);
    const CollectionMetadata about = collection.metadata();
    expect(about.name == name && about.vector_count == collection.size());
    if (about.config.dim > 64) continue;
    const std::vector<float> query(about.config.dim, 0.5F);
    expect(collection.search(query, 3)[0].size() == std::min<std::size_t>(3, collection.size()));
    try {
      const std::uint64_t id = collection.add(query);
      expect(collection.get(id) == query);
      collection.upsert(std::vector<std::uint64_t>{id}, query);
      expect(collection.remove(id));
    } catch (const Error& error) {
      expect(error.code() == ErrorCode::invalid_input);  // no ids are left, or vectors_max is reached
    }
    expect(store.drop_collection(name));
  }
}

}  // namespace

// Corrects the checksums as far as records and indexes can be parsed.
void fix_checksums(Bytes& bytes) {
  constexpr std::size_t header_end = 8 + 4 + 24;
  if (header_end + 8 > bytes.size()) return;
  std::size_t at = close_block(bytes, 12, header_end);
  while (at != 0 && at < bytes.size()) {
    const auto end = record_end(bytes, at);
    if (!end) return;
    at = fix_index_checksums(bytes, close_block(bytes, at, *end));
  }
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
  return files;
}

void load_and_use(ByteReader& reader) {
  VectorStore store = VectorStore::load(reader, runtime());
  use(store);
}

}  // namespace vectis::fuzz
