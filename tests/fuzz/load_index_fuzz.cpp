// Fuzzes load_index, and uses every index it accepts.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/base.hpp"
#include "vectis/search.hpp"

namespace vectis::fuzz {

namespace {

using Ids = std::vector<std::uint64_t>;

Bytes saved(const Index& index) {
  MemoryWriter writer;
  index.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// A reader that tracks where the current block begins: after the last correct checksum.
class BlockReader final : public ByteReader {
 public:
  explicit BlockReader(std::span<const std::byte> bytes) : bytes_(bytes), reader_(bytes) {}

  void read(std::span<std::byte> target) override {
    const std::size_t at = bytes_.size() - reader_.remaining();
    reader_.read(target);
    last = at;
    if (at < first_block) return;
    std::uint64_t number = 0;
    if (target.size() == sizeof(number)) std::memcpy(&number, target.data(), sizeof(number));
    // A block is never empty, so a zero at its beginning is no checksum.
    if (target.size() == sizeof(number) && at != begin && number == sum_) {
      begin = at + sizeof(number);
      sum_ = checksum({});
    } else {
      sum_ = checksum(target, sum_);
    }
  }

  static constexpr std::size_t first_block = 12;  // after magic and version
  std::size_t begin = first_block;
  std::size_t last = 0;  // offset of the last read

 private:
  std::span<const std::byte> bytes_;
  MemoryReader reader_;
  std::uint64_t sum_ = checksum({});
};

// Corrects one checksum after the other by loading the file until another error occurs. Works for every block layout.
void fix_checksums_by_loading(Bytes& bytes) {
  for (std::size_t fixed = 0;;) {
    BlockReader reader(bytes);
    try {
      static_cast<void>(load_index(reader, {.runtime = &runtime()}));
      return;
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("checksum") == std::string_view::npos) return;
    }
    if (reader.last <= fixed) return;
    fixed = reader.last;
    close_block(bytes, reader.begin, reader.last);
  }
}

// Every hit of an approximate index exists, has its exact distance, and is sorted without duplicates.
void expect_valid_hits(const Index& index, const std::vector<float>& query) {
  const SearchResult found = index.search(query, 3);
  const auto hits = found[0];
  expect(hits.size() <= std::min<std::size_t>(3, index.size()));
  for (std::size_t i = 0; i < hits.size(); ++i) {
    expect(hits[i].distance == exact_distance(index.metric(), query, index.get(hits[i].id).value()));
    expect(i == 0 || hits[i - 1].distance < hits[i].distance ||
           (hits[i - 1].distance == hits[i].distance && hits[i - 1].id < hits[i].id));
  }
}

// Bounds computed from the loaded codes never exclude a nearest neighbor.
void expect_exact_hits(const Index& index, const std::vector<float>& query) {
  const SearchResult near = index.search(query, 3);
  const SearchResult all = index.search(query, index.size());
  expect(all[0].size() == index.size() && near[0].size() == std::min<std::size_t>(3, index.size()));
  expect(std::ranges::equal(near[0], all[0].first(near[0].size())));
  for (const Hit& hit : all[0]) {
    expect(hit.distance == exact_distance(index.metric(), query, index.get(hit.id).value()));
  }
}

// An accepted index must work like any other.
void use(Index& index) {
  const std::size_t dim = index.dim();
  if (dim > 64) return;
  const std::vector<float> query(dim, 0.5F);
  const bool graph = index.kind() != "flat" && index.kind() != "gpu";
  const auto expect_hits = graph ? expect_valid_hits : expect_exact_hits;
  expect_hits(index, query);
  const Bytes file = saved(index);
  MemoryReader reader(file);
  const auto copy = load_index(reader, {.runtime = &runtime()});
  expect(saved(*copy) == file);
  try {
    const std::uint64_t id = index.add(query);
    expect(graph ? index.get(id).has_value() : index.get(id) == query);  // a graph may hold codes only
    index.update(id, query);
    expect(index.remove(Ids{id, 0, 1}) >= 1);
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::invalid_input);  // no ids are left
  }
  if (index.metric() == Metric::l2 && !graph) index.set_precision(Precision::bf16);
  index.compact();
  expect_hits(index, query);
}

}  // namespace

void fix_checksums(Bytes& bytes) {
  constexpr std::string_view graph_magic = "VECTISGR";
  if (bytes.size() > graph_magic.size() && std::memcmp(bytes.data(), graph_magic.data(), graph_magic.size()) == 0) {
    fix_checksums_by_loading(bytes);
  } else {
    fix_index_checksums(bytes, 0);
  }
}

// Small indexes in every state.
std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  Random random(1);
  const auto rows = [&](std::size_t count, std::size_t dim) {
    std::vector<float> values(count * dim);
    for (float& value : values) value = static_cast<float>(random.unit());
    return values;
  };
  for (const Metric distance : all_metrics()) {
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
      const auto index = make_index("flat", 3, distance, {.runtime = &runtime()});
      try {
        index->set_precision(precision);
      } catch (const Error&) {
        continue;
      }
      files.push_back(saved(*index));
      index->add(rows(4, 3));
      files.push_back(saved(*index));
      index->remove(Ids{1});
      index->drop_full_precision();
      index->add(Ids{9, 7}, rows(2, 3));
      files.push_back(saved(*index));
    }
  }
  for (const Metric distance : {Metric::l2, Metric::cosine, Metric::inner_product}) {
    const auto graph = make_index("graph", 3, distance,
                                  {.graph = GraphOptions{.degree = 4, .ef_construction = 16}, .runtime = &runtime()});
    files.push_back(saved(*graph));
    graph->add(rows(12, 3));
    files.push_back(saved(*graph));
    graph->remove(Ids{1, 4});
    graph->add(Ids{90, 70}, rows(2, 3));
    files.push_back(saved(*graph));
    graph->drop_full_precision();
    files.push_back(saved(*graph));
  }
  return files;
}

void load_and_use(ByteReader& reader) { use(*load_index(reader, {.runtime = &runtime()})); }

}  // namespace vectis::fuzz
