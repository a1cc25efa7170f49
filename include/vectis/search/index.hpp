// Vector indexes: what every one of them can do.
//
//   auto index = make_index("brute", 128, Metric::l2);
//   index->add(vectors);                                  // ids 0, 1, 2, ...
//   SearchResult found = index->search(queries, 10);
//   for (const Hit& hit : found[0]) use(hit.id, hit.distance);
#pragma once

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
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1 {

struct Hit {
  std::uint64_t id = 0;
  double distance = 0;
  bool operator==(const Hit&) const = default;
};

// Which ids may be found: bit i of the words, lowest first, stands for id `first_id + i`; ids beyond are not allowed.
// A view: the words must outlive the search.
struct IdFilter {
  std::span<const std::uint64_t> words;
  std::uint64_t first_id = 0;

  [[nodiscard]] bool allows(std::uint64_t id) const noexcept {
    const std::uint64_t bit = id - first_id;
    return id >= first_id && bit / 64 < words.size() && ((words[bit / 64] >> (bit % 64)) & 1U) != 0;
  }
};

inline constexpr double default_recall = 0.95;

struct SearchOptions {
  std::optional<IdFilter> filter = std::nullopt;
  std::optional<double> radius = std::nullopt;  // only hits at most this far away
  // The mean share of the true k nearest that an approximate index shall find, above 0 and at most 1; default_recall
  // when nothing is said. Exact indexes always find all.
  std::optional<double> recall = std::nullopt;
  Context context = {};  // deadline, cancel; looked at between pieces of work
};

// How an answer came about.
struct VECTIS_API SearchExplanation {
  std::string device;                     // "cpu", "opencl:0"; several joined by ", "
  std::string way;                        // the instructions or kernel that computed: "amx-int8", "avx512", ...
  std::string reason;                     // why this device and way
  Precision precision = Precision::fp32;  // what was scanned
  std::uint64_t rows_scanned = 0;         // of all queries together
  std::uint64_t survivors = 0;            // rows whose lower bound did not rule them out, computed in double precision
  double seconds = 0;

  [[nodiscard]] std::string text() const;  // a few lines for people
};

// Hits of each query, nearest first; equal distances by lower id.
class VECTIS_API SearchResult {
 public:
  SearchResult() = default;
  SearchResult(std::vector<std::size_t> ends, std::vector<Hit> hits, SearchExplanation explanation);

  [[nodiscard]] std::size_t queries() const noexcept { return ends_.size(); }
  [[nodiscard]] std::span<const Hit> operator[](std::size_t query) const;
  [[nodiscard]] const SearchExplanation& explanation() const noexcept { return explanation_; }

 private:
  std::vector<std::size_t> ends_;  // of each query's hits
  std::vector<Hit> hits_;
  SearchExplanation explanation_;
};

struct IndexStatistics {
  std::uint64_t vectors = 0;  // that can be found
  std::uint64_t removed = 0;  // rows not yet reclaimed
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;                     // of everything that grows with the vectors
  std::uint64_t mapped_bytes = 0;              // that lie in a mapped file instead
  std::uint64_t device_bytes = 0;              // that devices hold beside them
  double bytes_per_vector = 0;                 // bytes / vectors; 0 when there are none
  std::uint64_t scanned_bytes_per_vector = 0;  // what a search reads of each vector
  std::uint64_t searches = 0;
  std::uint64_t queries = 0;
  std::uint64_t survivors = 0;  // of all queries so far
};

// Where an index searches: fixed when it is made.
struct IndexDevices {
  std::vector<Device> devices;  // besides this processor; empty: this processor alone
  std::string reason;           // why these
};

// Thread-safe: any number of searches run beside one change; changes wait for each other. A search sees the index as it
// was when the search began; an approximate one may miss what a change is just moving.
//
// Vectors and queries are rows of dim() floats, one after the other. Every number must be finite: NaN and infinity are
// InvalidInput naming row and coordinate, and nothing is added. Sizes that are no multiple of dim() are InvalidInput.
class VECTIS_API Index {
 public:
  Index() = default;
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;
  virtual ~Index() = default;

  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;  // "brute"
  [[nodiscard]] virtual std::size_t dim() const noexcept = 0;
  [[nodiscard]] virtual Metric distance() const noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;

  // Ids are given in order from one more than the largest ever used; returns the first. InvalidInput when they would
  // pass 2^64 - 1.
  virtual std::uint64_t add(std::span<const float> vectors) = 0;
  // InvalidInput when an id is there already or twice among `ids`; then nothing is added.
  virtual void add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) = 0;
  // Returns how many of them were there.
  virtual std::size_t remove(std::span<const std::uint64_t> ids) = 0;
  // InvalidInput when the id is not there.
  virtual void update(std::uint64_t id, std::span<const float> vector) = 0;
  // Adds those that are not there and replaces those that are. InvalidInput when an id is twice among `ids`. All or
  // nothing, and a search sees all of it or none; "auto" may answer from its graph a moment before or after the others.
  virtual void upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) = 0;
  // Empty when the id is not there. The vector as it was added, or after compact() as it is stored.
  [[nodiscard]] virtual std::optional<std::vector<float>> get(std::uint64_t id) const = 0;

  // The k nearest of each query, or all when there are fewer. k = 0 and no queries give empty answers.
  [[nodiscard]] virtual SearchResult search(std::span<const float> queries, std::size_t k,
                                            const SearchOptions& options = {}) const = 0;

  // What searches scan. Answers stay the same as long as originals are kept; bytes and speed change. Manhattan,
  // Chebyshev and Hamming scan fp32 only: Unsupported for others.
  virtual void set_precision(Precision precision) = 0;
  [[nodiscard]] virtual Precision precision() const = 0;
  // Drops the originals: what is stored at this precision is the truth from now on. Reclaims removed rows as well.
  virtual void compact() = 0;

  [[nodiscard]] virtual IndexStatistics statistics() const = 0;
  // This processor alone, unless the index says otherwise.
  [[nodiscard]] virtual IndexDevices devices() const;
  // What the index is made of and how a search of `queries` would be done, for people.
  [[nodiscard]] virtual std::string explain(std::size_t queries = 1, std::size_t k = 10) const = 0;

  // docs/formats/exact-index.md. A save sees the index as it was when the save began.
  virtual void save(ByteWriter& writer) const = 0;
};

// How an index is made, besides what it holds.
struct IndexOptions {
  // What DeviceRequest takes, or several of them with commas between: the devices of "gpu", and those that "auto" may
  // choose besides this processor; or the one on which "hnsw" links large additions and walks. "cpu" means this
  // processor for every kind. Empty or "auto": the index's own rules.
  std::optional<std::string> device = std::nullopt;
  // Of "auto": what searches ask for unless they name a recall, default_recall when nothing is said. An index with 1
  // stays exact; with less it has a graph beside it from the size on where one pays, and may then miss something.
  std::optional<double> recall = std::nullopt;
};

// `kind` is "brute" (this processor), "gpu" (the devices), "auto" (whatever is predicted to be fastest: exact here or
// on a device, or by a graph once there are vectors enough and as long as the recall asked for is below 1) or "hnsw" (a
// graph: approximate, with a recall that is asked for; Euclidean, cosine and inner product). An unknown
// kind is UnsupportedBackend naming those that exist; "gpu" without a usable GPU is BackendCreation with the doctor's
// reason, or UnsupportedBackend when there is none. `dim` is from 1 to 65,536. A device named for a kind that does not
// use it is Unsupported.
VECTIS_API std::unique_ptr<Index> make_index(std::string_view kind, std::size_t dim, Metric distance = Metric::l2,
                                             Runtime& runtime = Runtime::get_default(),
                                             const IndexOptions& options = {});

struct GraphOptions {
  std::size_t degree = 30;        // most links of a vector, 3 bytes each up to 16.7 million vectors; 4 to 255
  std::size_t build_width = 160;  // how far neighbours are looked for; more is slower to build and better to search
  std::uint64_t seed = 1;         // of the order in which vectors are linked; the same seed gives the same graph
};
// An index of the kind "hnsw".
VECTIS_API std::unique_ptr<Index> make_graph_index(std::size_t dim, Metric distance = Metric::l2,
                                                   const GraphOptions& options = {},
                                                   Runtime& runtime = Runtime::get_default(),
                                                   const IndexOptions& place = {});

// Reads what save wrote. CorruptData when it is damaged, Unsupported when it needs a feature this version has not.
VECTIS_API std::unique_ptr<Index> load_index(ByteReader& reader, Runtime& runtime = Runtime::get_default(),
                                             const IndexOptions& options = {});

struct MapOptions {
  // Everything is read and checked once. Without it a file is there at once, whatever its size, and one that is damaged
  // may end the process: for files that were checked before.
  bool verify = true;
};
// Uses a file that `save` of an index of the kind "hnsw" wrote, from its first byte on, without bringing it to memory:
// only ids are there. Searches touch the pages they need. Removing is done beside it; adding and compact() bring all of
// it to memory first. The file never changes. Errors are those of load_index; Unsupported for other kinds, InvalidInput
// for no file.
VECTIS_API std::unique_ptr<Index> map_index(std::shared_ptr<const MappedFile> file,
                                            Runtime& runtime = Runtime::get_default(), const MapOptions& options = {});

}  // namespace vectis::inline v0_1
