// Fuzzes load_index and map_index, and uses every index they accept.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "search/auto_index.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/index_checksums.hpp"
#include "vectis/base.hpp"
#include "vectis/search.hpp"

namespace vectis::fuzz {

namespace {

using Ids = std::vector<std::uint64_t>;

// Every kind on the host, also "gpu".
IndexOptions on_host() { return {.device = "cpu", .runtime = &runtime()}; }

// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(BytesView bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(descriptor_ >= 0 && write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Null when map_index rejects the file.
std::unique_ptr<Index> mapped(BytesView file) try {
  return map_index(MemoryFile(file).path(), {.runtime = &runtime()});
} catch (const Error& error) {
  expect(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported);
  return nullptr;
}

bool approximate(const Index& index) { return index.kind() == "graph"; }

// Every hit of an approximate search exists, and hits are sorted without duplicates.
void expect_valid_hits(const Index& index, std::span<const Hit> hits) {
  expect(hits.size() <= std::min<std::size_t>(3, index.size()));
  for (std::size_t i = 0; i < hits.size(); ++i) {
    expect(index.get(hits[i].id).has_value());
    expect(i == 0 || hits[i - 1].distance < hits[i].distance ||
           (hits[i - 1].distance == hits[i].distance && hits[i - 1].id < hits[i].id));
  }
}

void expect_exact_distances(const Index& index, const std::vector<float>& query, std::span<const Hit> hits) {
  for (const Hit& hit : hits) {
    expect(hit.distance == exact_distance(index.metric(), query, index.get(hit.id).value()));
  }
}

// Bounds computed from the loaded codes never exclude a nearest neighbor.
void expect_exact_hits(const Index& index, const std::vector<float>& query) {
  const SearchResult near = index.search(query, 3, {.recall = 1});
  const SearchResult all = index.search(query, index.size(), {.recall = 1});
  expect(all[0].size() == index.size() && near[0].size() == std::min<std::size_t>(3, index.size()));
  expect(std::ranges::equal(near[0], all[0].first(near[0].size())));
  expect_exact_distances(index, query, all[0]);
}

void expect_hits(const Index& index, const std::vector<float>& query) {
  if (approximate(index)) {
    const SearchResult found = index.search(query, 3);
    expect_valid_hits(index, found[0]);
    expect_exact_distances(index, query, found[0]);
  } else {
    expect_exact_hits(index, query);
  }
  // With `ef`, "auto" searches its graph, whatever the planner measures. The graph of a hostile file may have other
  // vectors, but not other ids.
  if (index.kind() == "auto") expect_valid_hits(index, index.search(query, 3, {.ef = 8})[0]);
}

// Loading a saved index and saving it again gives an equal file.
void expect_reloads(const Index& index) noexcept {
  const Bytes file = saved(index);
  MemoryReader reader(file);
  expect(saved(*load_index(reader, on_host())) == file);
}

// An accepted index must work like any other.
void use(Index& index) noexcept {
  const std::size_t dim = index.dim();
  if (dim > 64) return;
  const std::vector<float> query(dim, 0.5F);
  expect_hits(index, query);
  expect_reloads(index);
  try {
    const std::uint64_t id = index.add(query);                                        // stays
    expect(approximate(index) ? index.get(id).has_value() : index.get(id) == query);  // a graph may hold codes only
    index.update(id, query);
    expect(index.remove(Ids{index.add(query), 0, 1}) >= 1);
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::invalid_input);  // no ids are left
  }
  if (index.metric() == Metric::l2 && !approximate(index)) index.set_precision(Precision::bf16);
  index.compact();
  expect_hits(index, query);
  expect_reloads(index);
}

// A mapped file must give the same index as a loaded one.
void read_and_use(BytesView file) {
  const auto from_map = mapped(file);
  MemoryReader reader(file);
  std::unique_ptr<Index> index;
  try {
    index = load_index(reader, on_host());
  } catch (const Error&) {
    expect(from_map == nullptr);
    throw;
  }
  expect((from_map != nullptr) == (index->kind() == "graph" && reader.remaining() == 0));
  if (from_map) expect(saved(*from_map) == saved(*index));
  use(from_map && hash64(file) % 2 == 0 ? *from_map : *index);
}

bool fix_checksums(Bytes& file) { return IndexChecksums(file, 0).fix().has_value(); }

constexpr std::size_t seed_dim = 3;

std::vector<float> rows(std::size_t count) {
  static Random random(1);
  std::vector<float> values(count * seed_dim);
  for (float& value : values) value = static_cast<float>(random.unit());
  return values;
}

// Exact indexes of each precision: empty, full, and with codes of dropped vectors beside new vectors.
void add_exact_seeds(std::vector<Bytes>& files, std::string_view kind, Metric metric) {
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    try {
      const auto index = make_index(kind, seed_dim, metric, on_host());
      index->set_precision(precision);
      files.push_back(saved(*index));
      index->add(rows(4));
      files.push_back(saved(*index));
      index->remove(Ids{1});
      index->drop_full_precision(precision);
      index->add(Ids{9, 7}, rows(2));
      files.push_back(saved(*index));
    } catch (const Error& error) {
      expect(error.code() == ErrorCode::unsupported);  // not every metric has codes
    }
  }
}

// The states of a graph: empty, full, after removals, and without full precision.
void add_graph_seeds(std::vector<Bytes>& files, Index& index) {
  files.push_back(saved(index));
  index.add(rows(12));
  files.push_back(saved(index));
  index.remove(Ids{1, 4});
  index.add(Ids{90, 70}, rows(2));
  files.push_back(saved(index));
  index.drop_full_precision();
  files.push_back(saved(index));
}

constexpr GraphOptions small_graph{.degree = 4, .ef_construction = 16};

std::unique_ptr<graph::GraphIndex> make_graph(Metric metric) {
  IndexOptions options = on_host();
  options.graph = small_graph;
  return make_graph_index(seed_dim, metric, options);
}

// A graph with codes of `bits` bits of two projected coordinates. Training chooses them only for far more vectors than
// a seed has.
graph::GraphIndex make_projected_graph(Metric metric, std::size_t bits) {
  graph::Encoding encoding = graph::make_encoding(metric, seed_dim);
  encoding.set_code_size(2, bits);
  graph::Projection& projection = encoding.projection;
  projection.basis.resize(projection.augmented_dim * projection.basis_stride());
  projection.basis[0] = projection.basis[projection.basis_stride() + 1] = 1;
  projection.trained_rows = 1'000'000;  // so that adding does not train again
  const graph::GraphParams params{.degree = 4, .pruned_degree = 4, .ef_construction = 16};
  graph::GraphContents contents;
  contents.storage = std::make_shared<graph::GraphStorage>(std::move(encoding), params, 0, true);
  return {runtime(), std::make_unique<graph::GraphStore>(runtime().executor(), params, std::move(contents))};
}

// An "auto" index with a graph beside the exact index, which it would build for far more vectors only.
void add_auto_seeds(std::vector<Bytes>& files, Metric metric) {
  for (const bool drop : {false, true}) {
    auto store = std::make_unique<exact::SegmentStore>(runtime().executor(), metric, seed_dim, Precision::int8);
    auto exact = std::make_unique<exact::ExactIndex>(runtime(), "auto", std::move(store),
                                                     exact::SearchPlace{nullptr, "the host"});
    AutoIndex index(runtime(), std::move(exact), make_graph(metric), default_recall, small_graph, {.rows_min = 1});
    index.add(rows(8));
    index.remove(Ids{2});
    index.add(Ids{90, 70}, rows(2));
    if (drop) index.drop_full_precision(Precision::fp16);
    files.push_back(saved(index));
  }
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  for (const Metric metric : all_metrics()) add_exact_seeds(files, "flat", metric);
  for (const Metric metric : {Metric::l2, Metric::l2_squared, Metric::cosine, Metric::inner_product}) {
    add_exact_seeds(files, "gpu", metric);
    add_exact_seeds(files, "auto", metric);
    add_graph_seeds(files, *make_graph(metric));
    for (const std::size_t bits : {4U, 8U}) {
      graph::GraphIndex projected = make_projected_graph(metric, bits);
      add_graph_seeds(files, projected);
    }
    add_auto_seeds(files, metric);
  }
  return files;
}

}  // namespace

const Target target{seeds, fix_checksums, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
