// VectorStore::load with anything, and what it accepts put to use. The last argument is the folder of the corpus; small
// saved stores are written there first.
#include <optional>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/base.hpp"
#include "vectis/store.hpp"

namespace {

using namespace vectis;
using namespace vectis::fuzz;

// The place behind a text, if it is whole.
std::optional<std::size_t> skip_text(const Bytes& bytes, std::size_t at) {
  if (at + 8 > bytes.size()) return std::nullopt;
  const auto length = number_at<std::uint64_t>(bytes, at);
  if (length > bytes.size() - at - 8) return std::nullopt;
  return at + 8 + length;
}

// Where the checksum of the record that begins at `at` is.
std::optional<std::size_t> record_end(const Bytes& bytes, std::size_t at) {
  constexpr std::size_t numbers = 3 + 4 + 8 + 8;
  std::optional<std::size_t> place = at;
  const auto texts = [&](std::size_t count) {
    for (std::size_t i = 0; place && i < count; ++i) place = skip_text(bytes, *place);
    return place.has_value();
  };
  if (!texts(3)) return std::nullopt;
  *place += numbers;
  if (!texts(2) || *place + 4 > bytes.size()) return std::nullopt;
  const std::size_t devices = number_at<std::uint32_t>(bytes, *place);
  *place += 4;
  if (devices > 16 || !texts(2 * devices) || *place + 8 > bytes.size()) return std::nullopt;
  return place;
}

// Checksums made right, as far as records and indexes can be followed.
void mend_store(Bytes& bytes) {
  constexpr std::size_t header_end = 8 + 4 + 24;
  if (header_end + 8 > bytes.size()) return;
  std::size_t at = close_block(bytes, 12, header_end);
  while (at != 0 && at < bytes.size()) {
    const auto end = record_end(bytes, at);
    if (!end) return;
    at = mend_index(bytes, close_block(bytes, at, *end));
  }
}

Bytes saved(const VectorStore& store) {
  MemoryWriter writer;
  store.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// Whatever was accepted must work as a store does.
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
      const std::uint64_t id = collection.insert(query);
      expect(collection.get(id) == query);
      collection.upsert(std::vector<std::uint64_t>{id}, query);
      expect(collection.erase(id));
    } catch (const Error& error) {
      expect(error.code() == ErrorCode::invalid_input);  // ids are used up, or the limit is reached
    }
    expect(store.drop_collection(name));
  }
}

// Stores in several states, small enough that every byte matters.
std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  VectorStore store(runtime());
  files.push_back(saved(store));
  store.create_collection("a", {.dim = 2});
  files.push_back(saved(store));
  store.collection("a").insert(std::vector<float>{1, 2, 3, 4});
  store.create_collection("b", {.dim = 1,
                                .distance = Metric::cosine,
                                .index = "brute",
                                .precision = Precision::bf16,
                                .recall = 0.9,
                                .device = "cpu",
                                .vectors_max = 3,
                                .tenant = "t"});
  store.collection("b").insert(std::vector<float>{5, 6});
  files.push_back(saved(store));
  return files;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  write_seeds(*count, *arguments, seeds());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_input(
      data, size, [](Bytes& bytes) { mend_store(bytes); },
      [](ByteReader& reader) {
        VectorStore store = VectorStore::load(reader, runtime());
        use(store);
      });
  return 0;
}
