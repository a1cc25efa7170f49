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

// Thread-safe. The index checks vectors and queries; this class adds the limit, the recall and the log of failures.
class CollectionCore {
 public:
  // `reason` says why the index is searched on its current devices, which may differ from the recorded ones.
  CollectionCore(Runtime& runtime, CollectionRecord record, std::unique_ptr<Index> index, std::string reason);

  [[nodiscard]] const CollectionRecord& record() const noexcept { return record_; }
  [[nodiscard]] std::size_t size() const { return live_index("size").size(); }

  // `Vectors` and `Queries` are std::span<const float> or MatrixView.
  template <class Vectors>
  std::uint64_t add(const Vectors& vectors, const Context& context) {
    const std::lock_guard lock(changes_);
    Index& index = live_index("add");
    check_limit("add", rows_of(vectors, index.dim()));
    return index.add(vectors, context);
  }
  template <class Vectors>
  void add(std::span<const std::uint64_t> ids, const Vectors& vectors, const Context& context) {
    const std::lock_guard lock(changes_);
    Index& index = live_index("add");
    check_limit("add", ids.size());
    index.add(ids, vectors, context);
  }
  template <class Vectors>
  void upsert(std::span<const std::uint64_t> ids, const Vectors& vectors, const Context& context) {
    const std::lock_guard lock(changes_);
    Index& index = live_index("upsert");
    check_limit_of_new(index, ids);
    index.upsert(ids, vectors, context);
  }
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context);
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const { return live_index("get").get(id); }
  template <class Queries>
  [[nodiscard]] SearchResult search(const Queries& queries, std::size_t k, const SearchOptions& options) const {
    const Index& index = live_index("search");
    return logging_failures([&] { return index.search(queries, k, with_recall(options)); });
  }
  SearchExplanation search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options) const;
  [[nodiscard]] CollectionMetadata metadata() const;
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const;

  // Waits for a running change. Every later change throws InvalidInput.
  void drop();
  // Writes the record and the index.
  void save(ByteWriter& writer, const Context& context) const;

 private:
  // Returns the index. Throws InvalidInput when the collection was dropped.
  [[nodiscard]] Index& live_index(std::string_view op) const;
  // Throws InvalidInput when `added` more vectors would exceed vectors_max. The caller holds changes_.
  void check_limit(std::string_view op, std::uint64_t added) const;
  // check_limit for the ids that do not exist yet.
  void check_limit_of_new(const Index& index, std::span<const std::uint64_t> ids) const;
  // Returns the options with the collection's recall, unless they name a recall or an ef.
  [[nodiscard]] SearchOptions with_recall(const SearchOptions& options) const;
  // Logs an error of a device with the backend's name.
  void log_failure(const Error& error) const;

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
  const std::string reason_;
  std::mutex changes_;  // held during a change
  std::atomic<bool> dropped_ = false;
};

}  // namespace vectis::inline v0_1::detail
