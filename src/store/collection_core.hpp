// What the handles of one collection share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/store_format.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::detail {

// Thread-safe. What vectors and queries must be is checked by the index.
class CollectionCore {
 public:
  // `reason` says why the index searches where it does now, which need not be where it was made to.
  CollectionCore(Runtime& runtime, CollectionRecord record, std::unique_ptr<Index> index, std::string reason);

  [[nodiscard]] const CollectionRecord& record() const noexcept { return record_; }
  [[nodiscard]] std::size_t size() const { return open("size").size(); }

  std::uint64_t insert(std::span<const float> vectors);
  void insert(std::span<const std::uint64_t> ids, std::span<const float> vectors);
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors);
  std::size_t erase(std::span<const std::uint64_t> ids);
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const { return open("get").get(id); }
  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k, const SearchOptions& options) const;
  [[nodiscard]] CollectionMetadata metadata() const;
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const;

  // No change succeeds after it; one that runs is waited for.
  void drop();
  void save(ByteWriter& writer) const;

 private:
  // The index; InvalidInput when the collection was dropped.
  [[nodiscard]] Index& open(std::string_view op) const;
  // Called with changes_ held: `more` vectors must fit.
  void check_room(std::string_view op, std::uint64_t more) const;
  void tell_failure(const Error& error) const;

  Runtime& runtime_;
  const CollectionRecord record_;
  const std::unique_ptr<Index> index_;
  const std::vector<Device> devices_;
  const std::string reason_;
  std::mutex changes_;  // held through a change
  std::atomic<bool> dropped_ = false;
};

}  // namespace vectis::inline v0_1::detail
