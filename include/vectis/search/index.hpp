// Vector indexes: the interface that every kind implements, and the functions that make, load and map one.
//
//   auto index = make_index("flat", 128, Metric::l2);
//   index->add(vectors);                                  // ids 0, 1, 2, ...
//   SearchResult found = index->search(queries, 10);
//   for (const Hit& hit : found[0]) use(hit.id, hit.distance);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/bytes.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/pages.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/search/id_filter.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1 {

// Rows of floats in memory that the caller owns and keeps alive during the call. Row i begins at `data + i * stride`.
// Immutable views of equal memory may be used by any number of threads.
//
//   index->add(MatrixView(vectors, 384));                // contiguous rows
//   index->add(MatrixView{data, rows, 384, 400});        // rows padded to 400 floats
struct VECTIS_API MatrixView {
  const float* data = nullptr;  // may be null when rows is 0
  std::size_t rows = 0;
  std::size_t dim = 0;     // floats in a row
  std::size_t stride = 0;  // floats from the begin of a row to the begin of the next, at least dim

  MatrixView() = default;
  // Contiguous rows.
  MatrixView(const float* values, std::size_t row_count, std::size_t row_dim)
      : data(values), rows(row_count), dim(row_dim), stride(row_dim) {}
  // Not checked here: a call that takes the view throws InvalidInput when stride < dim.
  MatrixView(const float* values, std::size_t row_count, std::size_t row_dim, std::size_t row_stride)
      : data(values), rows(row_count), dim(row_dim), stride(row_stride) {}
  // Contiguous rows, as many as fit. Throws InvalidInput when dim is 0 or values.size() is not a multiple of dim.
  MatrixView(std::span<const float> values, std::size_t dim);

  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept { return {data + i * stride, dim}; }
};

// A vector that a search found. docs/search.md says for each metric what the distance is.
struct Hit {
  std::uint64_t id = 0;
  double distance = 0;
  bool operator==(const Hit&) const = default;
};

inline constexpr double default_recall = 0.95;

struct SearchOptions {
  std::optional<IdFilter> filter = std::nullopt;  // only these ids; without it all
  std::optional<double> radius = std::nullopt;    // only hits at most this far away; NaN is InvalidInput
  // The mean share of the true k nearest that an approximate index shall find: 0 < recall <= 1, otherwise InvalidInput.
  // Without it the index's own recall holds. Exact kinds always find all.
  std::optional<double> recall = std::nullopt;
  // Beam width of the graph search (efSearch of HNSW), for those who tune it by hand instead of naming a recall. At
  // least 1; at least k are used. InvalidInput together with recall, and for kinds that have no beam ("flat", "gpu").
  std::optional<std::size_t> ef = std::nullopt;
  Context context = {};  // deadline and cancellation; checked between pieces of work
};

// How a search was done.
struct VECTIS_API SearchExplanation {
  std::string device;                     // "cpu", "opencl:0"; several are joined by ", "
  std::string kernel;                     // the instructions or kernel that computed: "amx-int8", "avx512", "graph"
  std::string reason;                     // why this device and kernel
  Precision precision = Precision::fp32;  // of the values that were scanned
  std::uint64_t rows_scanned = 0;         // of all queries together
  std::uint64_t reranked = 0;             // rows whose exact distance was computed, of all queries together
  double seconds = 0;

  // A few lines for people.
  [[nodiscard]] std::string text() const;
};

// The hits of each query, nearest first; of equal distances the lower id first. Immutable.
class VECTIS_API SearchResult {
 public:
  SearchResult() = default;
  SearchResult(const std::vector<std::vector<Hit>>& hits_of_queries, SearchExplanation explanation);

  // The number of queries.
  [[nodiscard]] std::size_t queries() const noexcept { return ends_.size(); }
  // The hits of one query, valid as long as the result. Throws InvalidInput when there is no such query.
  [[nodiscard]] std::span<const Hit> operator[](std::size_t query) const;
  [[nodiscard]] const SearchExplanation& explanation() const noexcept { return explanation_; }

 private:
  std::vector<std::size_t> ends_;  // one past the last hit of each query
  std::vector<Hit> hits_;
  SearchExplanation explanation_;
};

struct IndexStatistics {
  std::uint64_t vectors = 0;  // that can be found
  std::uint64_t removed = 0;  // rows not yet reclaimed
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;                     // of host memory, of everything that grows with the vectors
  std::uint64_t mapped_bytes = 0;              // of a mapped file
  std::uint64_t device_bytes = 0;              // of device memory
  double bytes_per_vector = 0;                 // bytes / vectors; 0 when there are no vectors
  std::uint64_t scanned_bytes_per_vector = 0;  // that a search reads of each vector
  std::uint64_t searches = 0;
  std::uint64_t queries = 0;
  std::uint64_t reranked = 0;  // rows whose exact distance was computed, of all queries so far
};

// Where an index searches. Fixed when the index is made.
struct IndexDevices {
  std::vector<Device> devices;  // besides the host; empty: the host CPU alone
  std::string reason;           // why these
};

// The interface of every kind of index. Thread-safe: any number of searches run beside one change; changes wait for
// each other. A search sees the index as it was when the search began; an approximate index may miss what a concurrent
// change moves.
//
// Vectors and queries are rows of dim() floats, contiguous in a span or with a stride in a MatrixView. Every call that
// takes them throws InvalidInput when a span's size is not a multiple of dim(), when a view's dim is not dim(), and,
// naming row and coordinate, when a float is NaN or infinite. A change that throws changes nothing. Calls that take a
// Context throw Cancelled or DeadlineExceeded when it says so, and report progress to it. Every call but size and
// statistics throws Forked in a forked child.
class VECTIS_API Index {
 public:
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;
  virtual ~Index() = default;

  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;  // "flat", "graph", "gpu" or "auto"
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }
  // The number of vectors that can be found.
  [[nodiscard]] virtual std::size_t size() const = 0;

  // Adds vectors under consecutive ids, the first of which is one more than the largest id ever used (0 for a new
  // index), and returns that first id. Throws InvalidInput when the ids would pass 2^64 - 1.
  std::uint64_t add(std::span<const float> vectors, const Context& context = {});
  std::uint64_t add(const MatrixView& vectors, const Context& context = {});
  // Adds vectors under the given ids. Throws InvalidInput when the numbers of ids and vectors differ, when the index
  // has one of the ids already, or when an id repeats.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  void add(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Adds vectors under ids that are new and replaces the vectors of ids that exist. Throws InvalidInput when the
  // numbers of ids and vectors differ or an id repeats. A search sees either all of the change or nothing of it; an
  // "auto" index may answer from its graph a moment before or after its exact part changes.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  void upsert(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Replaces the vector of an existing id. Throws InvalidInput when the id does not exist or `vector` is not one row.
  void update(std::uint64_t id, std::span<const float> vector);
  // Removes the ids that exist and returns how many did.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context = {});
  // Returns whether the id existed.
  template <std::integral Id>
  bool remove(Id id) {
    const auto one = static_cast<std::uint64_t>(id);
    return remove(std::span(&one, 1)) == 1;
  }
  // The vector of an id as it was added, or as it is stored after drop_full_precision(); nothing when the id does not
  // exist.
  [[nodiscard]] virtual std::optional<std::vector<float>> get(std::uint64_t id) const = 0;

  // The k nearest vectors of each query, fewer when there are fewer. k = 0 or no queries give an empty result. Throws
  // InvalidInput for options that are out of range, Cancelled or DeadlineExceeded as options.context says, and what a
  // device throws that the search ran on.
  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options = {}) const;
  [[nodiscard]] SearchResult search(const MatrixView& queries, std::size_t k, const SearchOptions& options = {}) const;

  // As search, into the caller's arrays: ids[q * k + i] and distances[q * k + i] are hit i of query q. Where a query
  // has fewer than k hits, the rest is missing_id and infinity. Throws InvalidInput when either array does not have
  // queries * k elements.
  static constexpr std::uint64_t missing_id = UINT64_MAX;
  SearchExplanation search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;
  SearchExplanation search_into(const MatrixView& queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;

  // The precision of the values that searches scan. As long as full precision is kept, answers do not depend on it,
  // only bytes and speed do. Throws Unsupported where a metric or kind has no such codes: l1, chebyshev and hamming
  // scan fp32 only, a graph int8 only.
  void set_precision(Precision precision, const Context& context = {});
  [[nodiscard]] virtual Precision precision() const = 0;

  // Reclaims the memory of removed vectors. Answers stay the same, but for the chance in an approximate index.
  void compact(const Context& context = {});
  // Discards the fp32 vectors and keeps what precision() stores of them. This loses information: from now on get()
  // returns the stored values and distances are computed from them. Also reclaims, as compact() does. Does nothing but
  // that at fp32.
  void drop_full_precision(const Context& context = {});

  [[nodiscard]] virtual IndexStatistics statistics() const = 0;
  // The host alone, unless the index was made for devices.
  [[nodiscard]] virtual IndexDevices devices() const;
  // What the index stores, and how a search of `queries` queries with these options would be done: text for people.
  [[nodiscard]] std::string explain(std::size_t queries = 1, std::size_t k = 10,
                                    const SearchOptions& options = {}) const {
    return do_explain(queries, k, options);
  }

  // Writes the index as it is when the call begins (docs/formats/). The path form writes a temporary file beside
  // `path`, flushes it to the disk and renames it, so that the file is the old or the new one at any moment; a mapped
  // index may be saved onto its own file. Throws Io with path and reason when that fails; then the old file is
  // unchanged.
  void save(const std::string& path, const Context& context = {}) const;
  void save(ByteWriter& writer, const Context& context = {}) const;

 protected:
  // `runtime` must outlive the index. Searches that name no recall ask for `recall`.
  Index(Runtime& runtime, std::size_t dim, Metric metric, double recall = default_recall) noexcept
      : runtime_(&runtime), dim_(dim), metric_(metric), recall_(recall) {}

  [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] double default_search_recall() const noexcept { return recall_; }

 private:
  // What kinds implement. Arguments were checked: rows are whole and finite, there is an id for each vector, options
  // are in range.
  virtual std::uint64_t do_add(std::span<const float> vectors, const Context& context) = 0;
  virtual void do_add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) = 0;
  virtual void do_upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors,
                         const Context& context) = 0;
  virtual void do_update(std::uint64_t id, std::span<const float> vector) = 0;
  virtual std::size_t do_remove(std::span<const std::uint64_t> ids, const Context& context) = 0;
  [[nodiscard]] virtual SearchResult do_search(std::span<const float> queries, std::size_t k,
                                               const SearchOptions& options) const = 0;
  virtual void do_set_precision(Precision precision, const Context& context) = 0;
  virtual void do_compact(const Context& context) = 0;
  virtual void do_drop_full_precision(const Context& context) = 0;
  virtual void do_save(ByteWriter& writer, const Context& context) const = 0;
  [[nodiscard]] virtual std::string do_explain(std::size_t queries, std::size_t k,
                                               const SearchOptions& options) const = 0;
  // Whether SearchOptions::ef means something.
  [[nodiscard]] virtual bool has_beam() const noexcept { return false; }

  Runtime* runtime_;
  std::size_t dim_;
  Metric metric_;
  double recall_;
};

// Parameters of a graph, fixed when it is made.
struct GraphOptions {
  std::size_t degree = 30;            // links of a vector at most, 3 bytes each up to 16.7 million vectors; 4 to 255
  std::size_t ef_construction = 160;  // beam width while linking; larger builds slower and searches better
  std::uint64_t seed = 1;             // of the order in which vectors are linked; equal seeds give equal graphs
};

// How an index is made, besides what it holds.
struct IndexOptions {
  // What searches ask for unless they name a recall: 0 < recall <= 1, otherwise InvalidInput; default_recall without
  // it. Exact kinds find all whatever it says. An "auto" index with recall 1 stays exact; below 1 it builds a graph
  // once there are enough vectors for one to pay, and may then miss some.
  std::optional<double> recall = std::nullopt;
  // What DeviceRequest takes, several separated by commas: the devices of "gpu", those that "auto" may choose besides
  // the host, or the one on which "graph" links large additions and searches. "cpu" is the host, for every kind. Empty
  // or "auto": the kind's own rules. A device for a kind that does not use one is Unsupported.
  std::optional<std::string> device = std::nullopt;
  // Of "graph", and of the graph that "auto" builds; InvalidInput for other kinds and for values out of range.
  std::optional<GraphOptions> graph = std::nullopt;
  Runtime* runtime = nullptr;  // must outlive the index; null: the default one
};

// Makes an empty index. `kind` is one of
//   "flat" (alias "brute")  exact search on the host
//   "graph" (alias "hnsw")  approximate search with a proximity graph; l2, l2_squared, cosine and inner_product
//   "gpu"                   exact search on devices; the same metrics
//   "auto"                  exact search on the host or a device, or a graph once one pays: whichever is predicted
//   faster
// and `dim` is 1 to 65,536. Throws InvalidInput for an unknown kind and a dim or option out of range, Unsupported for a
// metric or device that the kind cannot serve, and for "gpu" without a usable GPU BackendCreation with the reason.
VECTIS_API std::unique_ptr<Index> make_index(std::string_view kind, std::size_t dim, Metric metric = Metric::l2,
                                             const IndexOptions& options = {});

// Reads an index that Index::save wrote. Throws CorruptData when the bytes are not one, Unsupported when they need a
// feature that this version does not have, Io when the file cannot be read, Allocation when memory does not suffice.
// Cancelled or DeadlineExceeded as `context` says; reports progress to it. Messages of the path form name the path.
// IndexOptions::graph is InvalidInput: the file has the graph's parameters.
VECTIS_API std::unique_ptr<Index> load_index(const std::string& path, const IndexOptions& options = {},
                                             const Context& context = {});
VECTIS_API std::unique_ptr<Index> load_index(ByteReader& reader, const IndexOptions& options = {},
                                             const Context& context = {});

struct MapOptions {
  // Reads the whole file once and checks it. Without it mapping takes the same short time whatever the file's size, and
  // a corrupt file may crash the process: only for files that were checked before.
  bool verify = true;
  std::optional<double> recall = std::nullopt;  // as IndexOptions::recall
  Runtime* runtime = nullptr;                   // must outlive the index; null: the default one
};

// Opens a file that a "graph" index saved without reading the vectors into memory: only ids are in memory, searches
// touch the pages they need. Removals are kept beside the file; add, upsert, update and compact first copy everything
// into memory. The file itself never changes. Throws what load_index throws; Unsupported for files of other kinds,
// InvalidInput for a null file.
VECTIS_API std::unique_ptr<Index> map_index(const std::string& path, const MapOptions& options = {});
VECTIS_API std::unique_ptr<Index> map_index(std::shared_ptr<const MappedFile> file, const MapOptions& options = {});

}  // namespace vectis::inline v0_1
