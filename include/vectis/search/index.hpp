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

// A view of rows of floats that the caller owns and keeps alive while a call uses the view. Row i begins at `data + i
// * stride`. Any number of threads may read one view. Calls that take a view throw InvalidInput when its dim is not
// that of the index, stride < dim, or data is null although rows > 0. They copy rows with a larger stride, and throw
// Allocation when memory does not suffice for that.
//
//   index->add(MatrixView(vectors, 384));                // contiguous rows
//   index->add(MatrixView{data, rows, 384, 400});        // rows padded to 400 floats
struct VECTIS_API MatrixView {
  const float* data = nullptr;  // may be null when rows is 0
  std::size_t rows = 0;
  std::size_t dim = 0;     // floats in a row
  std::size_t stride = 0;  // floats from the begin of a row to the begin of the next, at least dim

  // Makes a view of no rows, which every call accepts whatever the dimension of the index.
  MatrixView() = default;
  // Makes a view of `row_count` contiguous rows of `row_dim` floats at `values`, which must hold them all. Checks
  // nothing: the call that takes the view throws InvalidInput for a null pointer or a wrong dimension.
  MatrixView(const float* values, std::size_t row_count, std::size_t row_dim)
      : data(values), rows(row_count), dim(row_dim), stride(row_dim) {}
  // Makes a view of `row_count` rows of `row_dim` floats whose begins are `row_stride` floats apart. Checks nothing:
  // the call that takes the view throws InvalidInput when row_stride < row_dim or when `values` is null with rows.
  MatrixView(const float* values, std::size_t row_count, std::size_t row_dim, std::size_t row_stride)
      : data(values), rows(row_count), dim(row_dim), stride(row_stride) {}
  // Makes a view of values.size() / dim contiguous rows. Throws InvalidInput when dim is not 1 to 65,536 or when
  // values.size() is not a multiple of dim.
  MatrixView(std::span<const float> values, std::size_t dim);

  // Returns the dim floats of row i. Precondition, not checked: i < rows.

  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept { return {data + i * stride, dim}; }
};

// One result of a search: the id of a vector and its exact distance to the query under the index's metric (see
// Metric). Smaller distances are nearer; inner_product distances may be negative.
struct Hit {
  std::uint64_t id = 0;
  double distance = 0;
  bool operator==(const Hit&) const = default;
};

// The recall that searches aim at when neither the search nor the index names one.
inline constexpr double default_recall = 0.95;

// Options of one search. Index::search throws InvalidInput when radius is NaN, recall is not in 0 < recall <= 1, ef
// is 0, ef and recall are both set, or ef is set for a kind without a beam ("flat", "gpu").
struct SearchOptions {
  std::optional<IdFilter> filter = std::nullopt;  // the only ids that the search may return; without it all ids
  std::optional<double> radius = std::nullopt;    // the largest distance of a hit; NaN: InvalidInput
  // The mean share of the true k nearest that an approximate index must find, for queries like its vectors; measured
  // with k = 10. Must be in 0 < recall <= 1, otherwise
  // the search throws InvalidInput. Without it the index's own recall applies. Exact kinds always find all.
  std::optional<double> recall = std::nullopt;
  // Beam width of the graph search (efSearch of HNSW), instead of a recall; a value below k counts as k, and
  // one that is not below the number of vectors is answered by a scan of all. The search throws InvalidInput when ef
  // is 0, when recall is set too, and for kinds that have no beam ("flat", "gpu"). An "auto" index ignores ef while it
  // has no graph, as with recall 1: it finds all.
  std::optional<std::size_t> ef = std::nullopt;
  Context context = {};  // deadline and cancellation, which the search checks between pieces of work
};

// Describes how a search was done: device, kernel, reason, and the rows it scanned and reranked. Plain data.
struct VECTIS_API SearchExplanation {
  std::string device;                     // "cpu", "opencl:0"; several are joined by ", "
  std::string kernel;                     // the instructions or kernel that computed: "amx-int8", "avx512", "graph"
  std::string reason;                     // why this device and kernel
  Precision precision = Precision::fp32;  // of the values that were scanned
  std::uint64_t rows_scanned = 0;         // of all queries together
  // Rows that codes or bounds did not rule out, so that their vectors were compared; of all queries together.
  std::uint64_t reranked = 0;
  double seconds = 0;

  // Formats the fields as lines of text that people read. The format is not stable: do not parse it.
  [[nodiscard]] std::string text() const;
};

// The result of a search: the hits of each query, nearest first, equal distances by lower id. Immutable.
class VECTIS_API SearchResult {
 public:
  SearchResult() = default;
  // Copies the hits of all queries; each list must be in the order nearest first, which is not checked.
  SearchResult(const std::vector<std::vector<Hit>>& hits_of_queries, SearchExplanation explanation);

  // Returns the number of queries that the search had, including queries without hits. Does not throw.
  [[nodiscard]] std::size_t queries() const noexcept { return ends_.size(); }
  // Returns the hits of the query at this position, valid as long as the result lives. Throws InvalidInput when
  // query >= queries().
  [[nodiscard]] std::span<const Hit> operator[](std::size_t query) const;
  [[nodiscard]] const SearchExplanation& explanation() const noexcept { return explanation_; }

 private:
  friend class AutoIndex;  // which has a reason of its own

  std::vector<std::size_t> ends_;  // one past the last hit of each query
  std::vector<Hit> hits_;
  SearchExplanation explanation_;
};

// Sizes and counters of an index at one moment, as Index::statistics() returns them. Plain data.
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
  std::uint64_t reranked = 0;  // as SearchExplanation counts, of all queries so far
};

// The devices on which an index may search, and why. An index chooses and opens them when it is made and never changes
// them. With several, or with the host besides, SearchExplanation says which of them ran a search.
struct VECTIS_API IndexDevices {
  std::vector<Device> devices = {};  // besides the host; empty: the host CPU alone
  std::string reason = {};           // why these
  bool host = true;                  // whether the host CPU may search, too; always true without devices

  // Returns the labels of all that may search, joined by ", ": "cpu", "opencl:0", "cpu, opencl:0".
  [[nodiscard]] std::string labels() const;
};

// The interface of every kind of index. Thread-safe: any number of searches run beside one change; changes wait for
// each other. A search sees the index as it was when the search began; an approximate index may miss what a
// concurrent change moves.
//
// Vectors and queries are rows of dim() floats, contiguous in a span or with a stride in a MatrixView. Every call
// that takes them throws InvalidInput when a span's size is not a multiple of dim(), when a view's dim is not dim(),
// and, naming row and coordinate, when a float is NaN or infinite. A change that throws changes nothing. Calls that
// take a Context throw Cancelled or DeadlineExceeded when it says so; long changes, save and load report progress to
// it. Changes, searches and save throw Forked in a forked child.
class VECTIS_API Index {
 public:
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;
  virtual ~Index() = default;

  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;  // "flat", "graph", "gpu" or "auto"
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }
  // Returns the number of vectors that a search can find; removed vectors do not count.
  [[nodiscard]] virtual std::size_t size() const = 0;

  // Adds contiguous rows of dim() floats under consecutive ids, from one more than the largest id ever used (0 for a
  // new index), and returns the first id. Throws InvalidInput when the size is not a multiple of dim(), a float is
  // NaN or infinite, or the ids would pass 2^64 - 1; Allocation when memory is exhausted; Cancelled or
  // DeadlineExceeded as `context` says; Forked in a forked child. The index is unchanged when the call throws.
  std::uint64_t add(std::span<const float> vectors, const Context& context = {});
  // Adds the rows of a view under consecutive ids, from one more than the largest id ever used, and returns the first
  // id. Throws InvalidInput when the view's dim is not dim(), its stride is below dim, a float is NaN or infinite, or
  // the ids would pass 2^64 - 1; Allocation, Cancelled, DeadlineExceeded or Forked. A call that throws adds nothing.
  std::uint64_t add(const MatrixView& vectors, const Context& context = {});
  // Adds contiguous rows of dim() floats, row i under ids[i]. Throws InvalidInput when the numbers of ids and rows
  // differ, the index has one of the ids already, an id repeats, or a float is NaN or infinite; Allocation when
  // memory is exhausted; Cancelled or DeadlineExceeded as `context` says; Forked in a forked child. Then nothing is
  // added.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  // Adds row i of a view under ids[i]. Throws InvalidInput when the view's dim is not dim(), the numbers of ids and
  // rows differ, the index has one of the ids already, an id repeats, or a float is NaN or infinite; Allocation,
  // Cancelled, DeadlineExceeded or Forked. A call that throws adds nothing.
  void add(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Stores row i under ids[i]: adds new ids, replaces the vectors of existing ids. A search sees all of the change or
  // nothing of it (an "auto" index may answer from its graph a moment earlier or later). Throws InvalidInput when the
  // numbers of ids and rows differ, an id repeats, or a float is NaN or infinite; Allocation, Cancelled,
  // DeadlineExceeded or Forked. A call that throws changes nothing.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  // Stores row i of a view under ids[i]: adds new ids, replaces the vectors of existing ids. Throws InvalidInput when
  // the view's dim is not dim(), the numbers of ids and rows differ, an id repeats, or a float is NaN or infinite;
  // Allocation, Cancelled, DeadlineExceeded or Forked. A call that throws changes nothing.
  void upsert(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Replaces the vector of an existing id. Throws InvalidInput when the id does not exist, `vector` does not have
  // dim() floats, or a float is NaN or infinite; Allocation when memory is exhausted; Forked in a forked child.
  void update(std::uint64_t id, std::span<const float> vector);
  // Removes the ids that exist, ignores the others, and returns how many existed. Throws Allocation when memory is
  // exhausted, Cancelled or DeadlineExceeded as `context` says, Forked in a forked child; then nothing is removed.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context = {});
  // Removes one id and returns whether it existed. The id is converted to std::uint64_t. Throws Allocation when
  // memory is exhausted and Forked in a forked child; then nothing is removed.
  template <std::integral Id>
  bool remove(Id id) {
    const auto one = static_cast<std::uint64_t>(id);
    return remove(std::span(&one, 1)) == 1;
  }
  // Returns the dim() floats of the id's vector as they were added, or as they are stored after
  // drop_full_precision(). Returns nullopt, without throwing, when the id does not exist.
  [[nodiscard]] virtual std::optional<std::vector<float>> get(std::uint64_t id) const = 0;

  // Returns the ids of all vectors that a search that begins now can find, in no particular order; removed ids are not
  // among them. Throws std::bad_alloc when memory is exhausted.
  [[nodiscard]] virtual std::vector<std::uint64_t> ids() const = 0;

  // Returns the k nearest vectors of each query, fewer when the index has fewer; no hits for k = 0. Throws
  // InvalidInput when the size is not a multiple of dim(), a float is NaN or infinite, or an option is out of range
  // (see SearchOptions); Cancelled or DeadlineExceeded as options.context says; Forked in a forked child; and the
  // error of a device that the search ran on.
  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options = {}) const;
  // Returns the k nearest vectors of each row of a view. Throws InvalidInput when the view's dim is not dim(), its
  // stride is below dim, a float is NaN or infinite, or an option is out of range (see SearchOptions); Cancelled or
  // DeadlineExceeded as options.context says; Forked in a forked child; and the error of a device.
  [[nodiscard]] SearchResult search(const MatrixView& queries, std::size_t k, const SearchOptions& options = {}) const;

  // The id that search_into writes, with an infinite distance, where a query has fewer than k hits.
  static constexpr std::uint64_t missing_id = UINT64_MAX;
  // Searches the k nearest vectors of each query and writes hit i of query q to ids[q * k + i] and distances[q * k +
  // i]; fills the places of missing hits with missing_id and infinity. Throws InvalidInput when either array does not
  // have queries * k elements, when the queries' size is not a multiple of dim(), and for everything that search()
  // rejects; Cancelled, DeadlineExceeded, Forked or the error of a device. Returns how the search was done.
  SearchExplanation search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;
  // Searches the k nearest vectors of each row of a view and writes hit i of query q to ids[q * k + i] and
  // distances[q * k + i]; missing hits become missing_id and infinity. Throws InvalidInput when either array does not
  // have rows * k elements or the view's dim is not dim(), and what search() throws. Returns how the search was done.
  SearchExplanation search_into(const MatrixView& queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;

  // Sets the precision of the values that searches scan, and quantizes all vectors again. Answers do not change while
  // full precision is kept, only bytes and speed. Throws Unsupported when metric or kind has no such codes (l1,
  // chebyshev and hamming scan fp32 only, a graph int8 only); InvalidInput for a value that is no enumerator;
  // Allocation, Cancelled, DeadlineExceeded or Forked.
  void set_precision(Precision precision, const Context& context = {});
  // Returns the precision of the values that searches scan, as set_precision() set it; always int8 for a graph.
  [[nodiscard]] virtual Precision precision() const = 0;

  // Reclaims the memory of removed vectors. Answers stay the same in exact kinds; an approximate index may find
  // slightly different vectors. Throws Allocation when memory is exhausted, Cancelled or DeadlineExceeded as
  // `context` says, and Forked in a forked child; then the index is unchanged.
  void compact(const Context& context = {});
  // Discards the fp32 vectors and keeps only their codes, which loses information: get() and distances then use the
  // codes' values. Also reclaims the memory of removed vectors, which is all it does when precision() is fp32. Throws
  // Allocation when memory is exhausted, Cancelled, DeadlineExceeded or Forked; then the index is unchanged.
  void drop_full_precision(const Context& context = {});
  // Calls set_precision(precision) and then drop_full_precision(), which loses information: at fp16 or bf16 the vectors
  // take half of the host and device memory of fp32, at int8 a quarter. Throws what the two throw; the precision is
  // then as before, or, when memory is exhausted, the new one with full precision kept.
  void drop_full_precision(Precision precision, const Context& context = {});

  // Returns the sizes and counters of the index at this moment. Any thread may call it during a change.
  [[nodiscard]] virtual IndexStatistics statistics() const = 0;
  // Returns the devices on which the index may search, and why; none for an index on the host alone.
  [[nodiscard]] virtual IndexDevices devices() const;
  // Returns text for people: what the index stores, and how it would search `queries` queries with these options.
  // Does not search and does not check the options: values that search() rejects are not reported here.
  [[nodiscard]] std::string explain(std::size_t queries = 1, std::size_t k = 10,
                                    const SearchOptions& options = {}) const {
    return do_explain(queries, k, options);
  }

  // Writes the index to a temporary file beside `path`, flushes it to the disk and renames it to `path`, so that the
  // file is the old or the new one at any moment. "flat" and "gpu" write the index as it is when the call begins;
  // "graph" and "auto" wait for a running change first, and write the index as it is then. Throws InvalidInput when
  // `path` has a NUL byte or is a folder, a device, a FIFO or a socket; Io, with path and reason, when a file cannot
  // be written; Cancelled or DeadlineExceeded as `context` says; Forked in a forked child. Then the old file is
  // unchanged. A mapped index may be saved onto its own file.
  void save(const std::string& path, const Context& context = {}) const;
  // Writes the index to `writer`: "flat" and "gpu" as it is when the call begins, "graph" and "auto" as it is after a
  // running change, for which they wait. Throws what the writer throws, Cancelled or DeadlineExceeded as `context`
  // says, and Forked in a forked child; then the bytes written so far are incomplete.
  void save(ByteWriter& writer, const Context& context = {}) const;

 protected:
  // Makes the base of an index. `runtime` must outlive the index; `dim` and `recall` must be in range, which is not
  // checked. Searches that set no recall use `recall`.
  Index(Runtime& runtime, std::size_t dim, Metric metric, double recall = default_recall) noexcept
      : runtime_(&runtime), dim_(dim), metric_(metric), recall_(recall) {}

  [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] double default_search_recall() const noexcept { return recall_; }

 private:
  // Each kind of index implements the do_ functions, which the public calls of the same name call after checking the
  // arguments: rows are whole and finite, there is one id for each vector, and options are in range. do_add adds rows
  // under consecutive ids, returns the first, and throws InvalidInput when the ids would pass 2^64 - 1.
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
  // Returns whether searches accept SearchOptions::ef. When it returns false, search() throws InvalidInput for an ef.
  [[nodiscard]] virtual bool has_beam() const noexcept { return false; }

  Runtime* runtime_;
  std::size_t dim_;
  Metric metric_;
  double recall_;
};

// Parameters with which a graph is built; they cannot change later. make_index("graph") throws InvalidInput when
// degree is not 4 to 255 or ef_construction is not between 5/6 of degree and 4096; an "auto" index with such values
// logs a warning when it would build a graph, and stays exact.
struct GraphOptions {
  std::size_t degree = 30;            // links of a vector at most, 3 bytes each up to 16.7 million vectors; 4 to 255
  std::size_t ef_construction = 160;  // beam width while linking; larger builds slower and searches better
  std::uint64_t seed = 1;             // of the order in which vectors are linked; equal seeds give equal graphs
};

// Options of make_index and load_index. Both throw InvalidInput for values out of range and Unsupported for a device
// that the kind cannot use.
struct IndexOptions {
  // The recall of searches that set none; default_recall when empty. Must be in 0 < recall <= 1, otherwise make_index
  // throws InvalidInput. Exact kinds find all vectors whatever it is. An "auto" index with recall 1 stays exact;
  // below 1 it builds a graph once a graph pays off, and may then miss some vectors.
  std::optional<double> recall = std::nullopt;
  // Device names as DeviceRequest takes them, separated by commas: the devices of "gpu", those that "auto" may choose
  // besides the host, or the one device of "graph". "cpu" is the host: "gpu" then searches there, which lets a machine
  // without a GPU use the files of one. Empty or "auto": the setting `device` (VECTIS_DEVICE) names the one device of
  // "auto" and "graph"; without it "graph" uses the host, and "auto" the host and every GPU that works. make_index
  // throws Unsupported for a device with "flat" and for several with "graph", and the device's own error when a named
  // device cannot be used.
  std::optional<std::string> device = std::nullopt;
  // Parameters of the graph that "graph" and "auto" build. make_index throws InvalidInput when they are set for
  // "flat" or "gpu", or out of range for "graph". load_index takes them for "auto" only, and throws InvalidInput for
  // the other kinds: graphs that the loaded index builds later have them; without them those of the graph in the
  // file, or the defaults when the file has no graph.
  std::optional<GraphOptions> graph = std::nullopt;
  Runtime* runtime = nullptr;  // must outlive the index; null: the default one
};

// Makes an empty index for vectors of `dim` floats. `kind` is one of
//   "flat" (alias "brute")  exact search on the host
//   "graph" (alias "hnsw")  approximate search with a proximity graph; l2, l2_squared, cosine and inner_product
//   "gpu"                   exact search on devices; l2, l2_squared, cosine and inner_product
//   "auto"                  exact search on the host or a device, or a graph: whichever is predicted faster
// and `dim` is 1 to 65,536. Opens the devices of the index and logs them; "auto" leaves out a GPU that fails, with a
// warning. Throws InvalidInput for an unknown kind or metric and a dim or option out of range, Unsupported for a metric
// or device that the kind cannot serve, for "gpu" without a usable GPU BackendCreation with the reason, and the error
// of a named device that cannot be used.
VECTIS_API std::unique_ptr<Index> make_index(std::string_view kind, std::size_t dim, Metric metric = Metric::l2,
                                             const IndexOptions& options = {});

// Reads an index from a file that Index::save wrote. Throws Io when the file cannot be read, CorruptData when it is
// not an intact index or has bytes after it, Unsupported when it needs a newer version of Vectis, Allocation when
// memory does not suffice, InvalidInput when `path` has a NUL byte, options.graph is set and the file is not of
// "auto", or options.recall is out of range, Cancelled or DeadlineExceeded as `context` says, and Forked in a forked
// child.
VECTIS_API std::unique_ptr<Index> load_index(const std::string& path, const IndexOptions& options = {},
                                             const Context& context = {});
// Reads an index from a reader that is positioned at the first byte that Index::save wrote, and leaves the reader
// after the last. Throws CorruptData when the bytes are not an intact index, Unsupported when they need a newer
// version of Vectis, Allocation when memory does not suffice, InvalidInput when options.graph is set and the bytes
// are not of "auto" or when options.recall is out of range, what the reader throws, Cancelled or DeadlineExceeded as
// `context` says, and Forked in a forked child.
VECTIS_API std::unique_ptr<Index> load_index(ByteReader& reader, const IndexOptions& options = {},
                                             const Context& context = {});

// Options of map_index, which throws InvalidInput when recall is not in 0 < recall <= 1.
struct MapOptions {
  // Whether map_index reads the whole file once and throws CorruptData when it is corrupt. When false, map_index
  // checks only header, encoding, ids and the size of the file, and searching a corrupt file may crash: set it only
  // for files checked before.
  bool verify = true;
  std::optional<double> recall = std::nullopt;  // of searches that set none; empty: default_recall
  Runtime* runtime = nullptr;                   // must outlive the index; null: the default one
};

// Maps a file that a "graph" index saved: only ids are copied to memory, searches read the pages they need, and the
// file never changes. add, upsert, update and compact first copy everything into memory. Throws Io when the file
// cannot be mapped, CorruptData when it is corrupt, Unsupported for a file of another kind or a newer version,
// InvalidInput when `path` has a NUL byte or options.recall is out of range, Allocation when memory does not suffice,
// and Forked in a forked child.
VECTIS_API std::unique_ptr<Index> map_index(const std::string& path, const MapOptions& options = {});
// Uses a mapped file that a "graph" index saved as an index, which keeps `file` alive and never changes it. Throws
// InvalidInput when `file` is null or options.recall is out of range, CorruptData when the file is corrupt,
// Unsupported for a file of another kind or a newer version, Allocation when memory does not suffice, Forked in a
// forked child.
VECTIS_API std::unique_ptr<Index> map_index(std::shared_ptr<const MappedFile> file, const MapOptions& options = {});

}  // namespace vectis::inline v0_1
