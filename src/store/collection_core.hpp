// The state that all handles of a collection share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/store_format.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::detail {

// A collection, shared by all its handles: passes calls on to its index and adds the limit vectors_max, the
// collection's recall, the log of device failures, and InvalidInput after drop(). Thread-safe.
class CollectionCore {
 public:
  // Takes over `index`, which must not be null and must match `record`. `runtime` must outlive the collection.
  // `reason` says why the index is searched on its current devices, which may differ from the recorded ones.
  CollectionCore(Runtime& runtime, CollectionRecord record, std::unique_ptr<Index> index, std::string reason);

  [[nodiscard]] const CollectionRecord& record() const noexcept { return record_; }
  // Returns the number of vectors. Throws InvalidInput after drop().
  [[nodiscard]] std::size_t size() const { return live_index("size").size(); }

  // Adds vectors (std::span<const float> or MatrixView) under consecutive new ids and returns the first id. Throws
  // InvalidInput after drop(), beyond vectors_max, or when the vectors are not rows of dim finite floats; and
  // otherwise what Index::add throws.
  template <class Vectors>
  std::uint64_t add(const Vectors& vectors, const Context& context) {
    const auto lock = begin_change("add");
    Index& index = live_index("add");
    check_limit("add", rows_of(vectors, index.dim()));
    return index.add(vectors, context);
  }
  // Adds vectors (std::span<const float> or MatrixView) under `ids`. Throws InvalidInput after drop(), beyond
  // vectors_max, when an id exists already or repeats, or when the vectors are not one row of dim finite floats per
  // id; and otherwise what Index::add throws.
  template <class Vectors>
  void add(std::span<const std::uint64_t> ids, const Vectors& vectors, const Context& context) {
    const auto lock = begin_change("add");
    Index& index = live_index("add");
    check_limit("add", ids.size());
    index.add(ids, vectors, context);
  }
  // Adds vectors (std::span<const float> or MatrixView) under new ids and replaces those of existing ids. Throws
  // InvalidInput after drop(), beyond vectors_max, when an id repeats, or when the vectors are not one row of dim
  // finite floats per id; and otherwise what Index::upsert throws.
  template <class Vectors>
  void upsert(std::span<const std::uint64_t> ids, const Vectors& vectors, const Context& context) {
    const auto lock = begin_change("upsert");
    Index& index = live_index("upsert");
    check_limit_of_new(index, ids);
    index.upsert(ids, vectors, context);
  }
  // Removes the vectors of the ids that exist and returns how many existed. Throws InvalidInput after drop(), and
  // otherwise what Index::remove throws: Cancelled, DeadlineExceeded or Forked.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context);
  // Returns the vector of `id`, or nothing when the id does not exist. Throws InvalidInput after drop().
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const { return live_index("get").get(id); }
  [[nodiscard]] std::vector<std::uint64_t> ids() const { return live_index("ids").ids(); }
  // Returns the vector of each id, in the order of `ids`, and nothing in place of an id that does not exist. Throws
  // InvalidInput after drop(), also without ids.
  [[nodiscard]] std::vector<std::optional<std::vector<float>>> get(std::span<const std::uint64_t> ids) const;
  // Returns the k nearest vectors of each query (std::span<const float> or MatrixView), at the collection's recall
  // unless `options` name a recall or an ef. Throws InvalidInput after drop() or for queries that are not rows of dim
  // finite floats, and otherwise what Index::search throws; logs a failure of a device.
  template <class Queries>
  [[nodiscard]] SearchResult search(const Queries& queries, std::size_t k, const SearchOptions& options) const {
    const Index& index = live_index("search");
    return logging_failures([&] { return index.search(queries, k, with_recall(options)); });
  }
  // Searches, as search() does, and writes the hits to arrays of queries * k elements. Throws InvalidInput after
  // drop() or when an array has another size, and otherwise what Index::search_into throws; logs a failure of a
  // device.
  template <class Queries>
  SearchExplanation search_into(const Queries& queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options) const {
    const Index& index = live_index("search_into");
    return logging_failures([&] { return index.search_into(queries, k, ids, distances, with_recall(options)); });
  }
  // Returns the size, the devices and the memory of the collection as of now. Works after drop(), too.
  [[nodiscard]] CollectionMetadata metadata() const;
  // Describes as text how a search of `queries` queries for `k` neighbors at the collection's recall would run.
  // Throws InvalidInput after drop().
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const;

  // Waits for a running change and marks the collection as dropped: every later call except record(), metadata() and
  // save() throws InvalidInput. The index is freed with the last handle. Throws Forked in a forked child.
  void drop();
  // Writes the record and the index. Throws what `writer` throws, Cancelled or DeadlineExceeded by `context`, and
  // Forked in a forked child.
  void save(ByteWriter& writer, const Context& context) const;

 private:
  // Waits for a running change and keeps others out as long as the lock lives. Throws Forked, naming `op`, in a forked
  // child, where a lock that another thread held is never released.
  [[nodiscard]] std::unique_lock<std::mutex> begin_change(std::string_view op);
  // Returns the index for the operation `op`. Throws InvalidInput, naming `op`, when the collection was dropped.
  [[nodiscard]] Index& live_index(std::string_view op) const;
  // Throws InvalidInput, naming `op`, when `added` more vectors would exceed vectors_max. The caller holds changes_.
  void check_limit(std::string_view op, std::uint64_t added) const;
  // Throws InvalidInput when adding those of `ids` that do not exist yet would exceed vectors_max. The caller holds
  // changes_.
  void check_limit_of_new(const Index& index, std::span<const std::uint64_t> ids) const;
  // Returns `options` with the collection's recall filled in, unless they name a recall or an ef.
  [[nodiscard]] SearchOptions with_recall(const SearchOptions& options) const;
  // Logs `error` of a search with the collection's devices and their backend. Logs nothing if the collection has no
  // devices, nor for errors that no device threw, such as Cancelled or an error of the filter's predicate.
  void log_failure(const Error& error) const;

  // Returns what `search` returns. When it throws an Error, passes it to log_failure() and rethrows.
  template <class Search>
  std::invoke_result_t<Search> logging_failures(Search search) const {
    try {
      return search();
    } catch (const Error& error) {
      log_failure(error);
      throw;
    }
  }
  static std::size_t rows_of(std::span<const float> vectors, std::size_t dim) { return vectors.size() / dim; }
  static std::size_t rows_of(const MatrixView& vectors, std::size_t /*dim*/) { return vectors.rows; }

  Runtime& runtime_;
  const CollectionRecord record_;
  const std::unique_ptr<Index> index_;
  const std::vector<Device> devices_;
  const std::string labels_;  // of the devices, and of the CPU if it may search
  const std::string reason_;
  std::mutex changes_;  // held during a change
  std::atomic<bool> dropped_ = false;
};

}  // namespace vectis::inline v0_1::detail
