// The index whose answers are exact, whoever scans it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/exact/search_task.hpp"
#include "search/exact/segment_store.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// Returns the precision that a new index of this metric scans: int8 for l2, l2_squared, cosine and inner_product,
// fp32 for l1, chebyshev and hamming. Does not throw.
[[nodiscard]] Precision default_precision(Metric metric) noexcept;
// Returns whether searches with this metric can scan rows of this precision: every metric scans fp32; int8, bf16 and
// fp16 work for l2, l2_squared, cosine and inner_product only. Does not throw.
[[nodiscard]] bool can_scan(Metric metric, Precision precision) noexcept;

// The place where an exact index searches: devices through a searcher, or the host CPU when the searcher is null.
struct SearchPlace {
  std::unique_ptr<Searcher> searcher;  // null: the host CPU
  std::string reason;                  // why there
};

// Index of kind "flat" or "gpu", and the exact part of "auto": searches the vectors of a segment store exactly, on
// the host or on devices. Searches throw the errors of the devices they run on. Thread-safe.
class ExactIndex final : public Index {
 public:
  // Takes over `store`, which must not be null, and `place`. `kind` must live as long as the program, and `runtime`
  // must outlive the index. With a searcher, copies the store's segments to the devices; failures there surface in
  // searches.
  ExactIndex(Runtime& runtime, std::string_view kind, std::unique_ptr<SegmentStore> store, SearchPlace place);

  [[nodiscard]] std::string_view kind() const noexcept override { return kind_; }
  [[nodiscard]] std::size_t size() const override;
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override;
  [[nodiscard]] std::vector<std::uint64_t> ids() const override;
  [[nodiscard]] Precision precision() const override;
  [[nodiscard]] IndexStatistics statistics() const override;
  [[nodiscard]] IndexDevices devices() const override {
    return place_.searcher ? place_.searcher->devices() : IndexDevices{{}, place_.reason};
  }

  // Returns text for people that says what the index stores and counts: the first lines of explain().
  [[nodiscard]] std::string describe() const;
  // Returns the immutable snapshot that a search that begins now reads; never null.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return store_->now(); }
  // Returns whether some segment has codes only, because drop_full_precision() discarded its fp32 vectors.
  [[nodiscard]] bool compacted() const;

 private:
  std::uint64_t do_add(std::span<const float> vectors, const Context& context) override;
  void do_add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) override;
  void do_upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) override;
  void do_update(std::uint64_t id, std::span<const float> vector) override;
  std::size_t do_remove(std::span<const std::uint64_t> ids, const Context& context) override;
  [[nodiscard]] SearchResult do_search(std::span<const float> queries, std::size_t k,
                                       const SearchOptions& options) const override;
  void do_set_precision(Precision precision, const Context& context) override;
  void do_compact(const Context& context) override;
  void do_drop_full_precision(const Context& context) override;
  void do_save(ByteWriter& writer, const Context& context) const override;
  [[nodiscard]] std::string do_explain(std::size_t queries, std::size_t k, const SearchOptions& options) const override;
  // An "auto" index accepts a beam width whether or not it has a graph; an exact search finds all without one.
  [[nodiscard]] bool has_beam() const noexcept override { return kind_ == "auto"; }

  std::string_view kind_;
  [[nodiscard]] std::optional<int> device_for_rows() const;  // see Searcher::device_for_rows

  SearchPlace place_;
  std::unique_ptr<SegmentStore> store_;
  mutable std::atomic<std::uint64_t> searches_ = 0;
  mutable std::atomic<std::uint64_t> queries_ = 0;
  mutable std::atomic<std::uint64_t> reranked_ = 0;
};

}  // namespace vectis::inline v0_1::exact
