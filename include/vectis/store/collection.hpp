// A collection: vectors under ids, searched on a device that was chosen when the collection was made.
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

// What a collection is. Fixed once it is made, and saved with it.
struct CollectionConfig {
  std::size_t dim = 0;  // floats in a vector, 1 to 65,536
  Metric metric = Metric::l2;
  std::string index = "auto";                         // a kind that make_index knows
  std::optional<Precision> precision = std::nullopt;  // what searches scan; empty: the index's own choice
  std::optional<double> recall = std::nullopt;        // share of the nearest that must be found, above 0, at most 1
  std::optional<std::string> device = std::nullopt;   // as IndexOptions::device
  std::optional<std::uint64_t> vectors_max = std::nullopt;  // a change that would pass it is InvalidInput
  std::string tenant = {};                                  // whose it is: at most 255 bytes, kept and not looked at

  bool operator==(const CollectionConfig&) const = default;
};

// A collection as it is now, for people and monitoring.
struct CollectionMetadata {
  std::string name;
  CollectionConfig config;
  std::uint64_t vector_count = 0;
  std::uint64_t bytes = 0;             // of the host, everything that grows with the vectors
  std::string gpu_backend = "none";    // "cuda", "rocm", "metal", "webgpu", "opencl"; "none": this processor alone
  std::string gpu_device;              // "NVIDIA RTX 4090"; several joined by ", "
  std::uint64_t gpu_memory_used = 0;   // bytes that the devices hold of this collection
  std::uint64_t gpu_memory_total = 0;  // bytes of those devices
  std::string device;                  // "cpu", "opencl:0"; several joined by ", "
  std::string reason;                  // why there
};

// A handle, cheap to copy; all copies mean the same collection. Thread-safe: any number of searches run beside one
// change, changes wait for each other, and a search sees the collection as it was when the search began.
//
// A handle may outlive its VectorStore, not the Runtime. Once the collection was dropped, what is running ends as
// usual, and every later call but name, config and metadata is InvalidInput; the memory goes with the last handle.
//
// A change that throws changes nothing (see Index::upsert for kinds that are not exact). A device that fails during a
// search is told to the log with its backend, and is the Error of that search: nothing is tried elsewhere.
class VECTIS_API Collection {
 public:
  explicit Collection(std::shared_ptr<detail::CollectionCore> core) noexcept : core_(std::move(core)) {}

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const CollectionConfig& config() const noexcept;
  [[nodiscard]] std::size_t size() const;

  // Ids are given in order from one more than the largest ever used; returns the first.
  std::uint64_t add(std::span<const float> vectors, const Context& context = {});
  std::uint64_t add(const MatrixView& vectors, const Context& context = {});
  // Adds vectors under the given ids. InvalidInput when an id exists already or repeats.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  void add(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Adds vectors under ids that are new and replaces the vectors of ids that exist. InvalidInput when an id repeats.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context = {});
  void upsert(std::span<const std::uint64_t> ids, const MatrixView& vectors, const Context& context = {});
  // Removes the ids that exist and returns how many did.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context = {});
  // Returns whether the id existed.
  template <std::integral Id>
  bool remove(Id id) {
    const auto one = static_cast<std::uint64_t>(id);
    return remove(std::span(&one, 1)) == 1;
  }

  // Empty where the id is not there.
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const;
  [[nodiscard]] std::vector<std::optional<std::vector<float>>> get(std::span<const std::uint64_t> ids) const;

  // The k nearest of each query. The collection's recall holds unless the options name one.
  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options = {}) const;
  [[nodiscard]] SearchResult search(const MatrixView& queries, std::size_t k, const SearchOptions& options = {}) const;
  // As Index::search_into.
  SearchExplanation search_into(std::span<const float> queries, std::size_t k, std::span<std::uint64_t> ids,
                                std::span<double> distances, const SearchOptions& options = {}) const;

  [[nodiscard]] CollectionMetadata metadata() const;
  // Where and how a search of `queries` would be done, for people.
  [[nodiscard]] std::string explain(std::size_t queries = 1, std::size_t k = 10) const;

  bool operator==(const Collection& other) const noexcept { return core_ == other.core_; }

 private:
  std::shared_ptr<detail::CollectionCore> core_;
};

}  // namespace vectis::inline v0_1
