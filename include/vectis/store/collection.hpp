// A collection: vectors with ids, searched on the device that was selected when the collection was created.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/search/index.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1 {

namespace detail {
class CollectionCore;
}

// Configuration of a collection; fixed when the collection is created, and saved with it.
// VectorStore::create_collection throws InvalidInput when a field is out of range.
struct CollectionConfig {
  std::size_t dim = 0;  // dimensions of a vector, 1 to 65,536
  Metric metric = Metric::l2;
  std::string index = "auto";                               // a kind of make_index
  std::optional<Precision> precision = std::nullopt;        // of the scanned codes; empty: the index's default
  std::optional<double> recall = std::nullopt;              // of searches that name none: 0 < recall <= 1
  std::optional<std::string> device = std::nullopt;         // as IndexOptions::device
  std::optional<std::uint64_t> vectors_max = std::nullopt;  // a change beyond this size throws InvalidInput
  std::string tenant = {};  // a tag of the application, at most 255 bytes; saved, not used

  bool operator==(const CollectionConfig&) const = default;
};

// Current state of a collection, for monitoring, as Collection::metadata returns it.
struct CollectionMetadata {
  std::string name;
  CollectionConfig config;
  std::uint64_t vector_count = 0;
  std::uint64_t bytes = 0;  // host memory of everything that grows with the vectors
  // Of the devices other than the CPU; all empty when the CPU alone searches.
  std::optional<std::string> gpu_backend;         // "cuda", "rocm", "metal", "webgpu", "opencl"
  std::optional<std::string> gpu_device;          // "NVIDIA RTX 4090"; several joined by ", "
  std::optional<std::uint64_t> gpu_memory_used;   // bytes of this collection in device memory
  std::optional<std::uint64_t> gpu_memory_total;  // memory of these devices in bytes; empty where one reports none
  // All that may search, joined by ", ": "cpu", "opencl:0", "cpu, opencl:0" where the planner chooses for each search.
  std::string device;
  std::string reason;  // why these devices were selected, and which of them were lost since
};

// A handle to a collection, cheap to copy; copies refer to the same collection. Thread-safe: any number of searches
// run concurrently with one change, changes wait for each other, and a search sees the collection as it was when the
// search began.
//
// A handle may outlive its VectorStore, but not the Runtime. After drop_collection, running calls finish, and every
// later call except name, config and metadata throws InvalidInput. The memory is freed with the last handle.
//
// A change that throws has no effect (see Index::upsert for approximate kinds). When a device fails during a search,
// the search throws the Error and the log names the backend; the search is not repeated on another device.
//
// Vectors and queries are rows of config().dim floats, one after the other. Changes and searches throw InvalidInput
// for another size or a non-finite value; changes also when the collection would exceed vectors_max.
class VECTIS_API Collection {
 public:
  // Makes a handle to `core`, which must not be null. Internal: VectorStore makes the handles. Does not throw.
  explicit Collection(std::shared_ptr<detail::CollectionCore> core) noexcept : core_(std::move(core)) {}

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const CollectionConfig& config() const noexcept;
  // Returns the number of vectors. Throws InvalidInput after the collection was dropped.
  [[nodiscard]] std::size_t size() const;

  // Adds vectors under consecutive ids, starting after the largest id ever used, and returns the first id. Throws
  // InvalidInput when `vectors` is not rows of config().dim finite floats, vectors_max would be exceeded or the
  // collection was dropped; Cancelled or DeadlineExceeded by `context`; Forked in a forked child.
  std::uint64_t add(std::span<const float> vectors, const Context& context = {});
  // Adds the rows of a view under consecutive ids, starting after the largest id ever used, and returns the first id.
  // Throws InvalidInput when `vectors` is not rows of config().dim finite floats, vectors_max would be exceeded or
  // the collection was dropped; Cancelled or DeadlineExceeded by `context`; Forked in a forked child.
  std::uint64_t add(const MatrixView& vectors, const Context& context = {});
  // Adds vectors under the given ids. Throws InvalidInput when an id exists already or repeats, the numbers of ids
  // and vectors differ, `vectors` is not rows of config().dim finite floats, vectors_max would be exceeded or the
  // collection was dropped; Cancelled or DeadlineExceeded by `context`; Forked in a forked child.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  // Adds the rows of a view under the given ids. Throws InvalidInput when an id exists already or repeats, the
  // numbers of ids and vectors differ, `vectors` is not rows of config().dim finite floats, vectors_max would be
  // exceeded or the collection was dropped; Cancelled or DeadlineExceeded by `context`; Forked in a forked child.
  void add(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Adds vectors under ids that are new and replaces the vectors of ids that exist. Throws InvalidInput when an id
  // repeats, the numbers of ids and vectors differ, `vectors` is not rows of config().dim finite floats, vectors_max
  // would be exceeded or the collection was dropped; Cancelled or DeadlineExceeded by `context`; Forked in a forked
  // child.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  // Adds rows of a view under ids that are new and replaces the vectors of ids that exist. Throws InvalidInput when
  // an id repeats, the numbers of ids and vectors differ, `vectors` is not rows of config().dim finite floats,
  // vectors_max would be exceeded or the collection was dropped; Allocation when memory is exhausted; Cancelled or
  // DeadlineExceeded by `context`; Forked in a forked child. A call that throws changes nothing.
  void upsert(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Removes the vectors of the ids that exist and returns how many existed; ignores the other ids. Throws
  // InvalidInput after the collection was dropped, Cancelled or DeadlineExceeded by `context`, and Forked in a forked
  // child.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context = {});
  // Removes the vector of one id and returns whether the id existed. Throws InvalidInput after the collection was
  // dropped, and Forked in a forked child.
  template <std::integral Id>
  bool remove(Id id) {
    const auto one = static_cast<std::uint64_t>(id);
    return remove(std::span(&one, 1)) == 1;
  }

  // Returns the vector of `id`, or nothing when the id does not exist. Throws InvalidInput after the collection was
  // dropped.
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const;
  // Returns the vector of each id, in the order of `ids`, and nothing in place of an id that does not exist. Throws
  // InvalidInput after the collection was dropped.
  [[nodiscard]] std::vector<std::optional<std::vector<float>>> get(std::span<const std::uint64_t> ids) const;

  // Returns the ids of all vectors, in no particular order. Throws InvalidInput after the collection was dropped.
  [[nodiscard]] std::vector<std::uint64_t> ids() const;

  // Returns the k nearest vectors of each query, at the collection's recall unless `options` name a recall or an ef.
  // Throws InvalidInput when `queries` is not rows of config().dim finite floats, an option is out of range or the
  // collection was dropped; Cancelled or DeadlineExceeded by options.context; Forked in a forked child; and the error
  // of a device that fails.
  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options = {}) const;
  // Returns the k nearest vectors of each row of a view, at the collection's recall unless `options` name a recall or
  // an ef. Throws InvalidInput when `queries` is not rows of config().dim finite floats, an option is out of range or
  // the collection was dropped; Cancelled or DeadlineExceeded by options.context; Forked in a forked child; and the
  // error of a device that fails.
  [[nodiscard]] SearchResult search(const MatrixView& queries, std::size_t k, const SearchOptions& options = {}) const;
  // Searches and writes hit i of query q to ids[q * k + i] and distances[q * k + i]; missing hits are
  // Index::missing_id and infinity. Throws InvalidInput when an array does not have queries * k elements, `queries`
  // is not rows of config().dim finite floats, an option is out of range or the collection was dropped; Cancelled or
  // DeadlineExceeded by options.context; and the error of a device that fails.
  SearchExplanation search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;

  // Searches the rows of a view and writes hit i of query q to ids[q * k + i] and distances[q * k + i]; missing hits
  // are Index::missing_id and infinity. Throws InvalidInput when an array does not have rows * k elements, `queries` is
  // not rows of config().dim finite floats, an option is out of range or the collection was dropped; Cancelled or
  // DeadlineExceeded by options.context; and the error of a device that fails.
  SearchExplanation search_into(const MatrixView& queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;

  // Returns the size, the devices and the memory of the collection as of now. Works after the collection was dropped,
  // too.
  [[nodiscard]] CollectionMetadata metadata() const;
  // Describes as text how a search of `queries` queries for `k` neighbors at the collection's recall would run.
  // Throws InvalidInput after the collection was dropped.
  [[nodiscard]] std::string explain(std::size_t queries = 1, std::size_t k = 10) const;

  // Returns whether both handles refer to the same collection. Does not compare vectors. Does not throw.
  bool operator==(const Collection& other) const noexcept { return core_ == other.core_; }

 private:
  std::shared_ptr<detail::CollectionCore> core_;
};

}  // namespace vectis::inline v0_1
