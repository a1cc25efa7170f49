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

// The precision that a new index scans: int8 where a bound for it exists.
[[nodiscard]] Precision default_precision(Metric metric) noexcept;
// Whether rows can be quantized to this precision; l1, chebyshev and hamming scan fp32 only.
[[nodiscard]] bool can_scan(Metric metric, Precision precision) noexcept;

// Where an exact index searches.
struct SearchPlace {
  std::unique_ptr<Searcher> searcher;  // null: the host CPU
  std::string reason;                  // why there
};

// Exact search over the vectors of a segment store, on the host or on devices. Thread-safe.
class ExactIndex final : public Index {
 public:
  // `kind` must live as long as the program.
  ExactIndex(Runtime& runtime, std::string_view kind, std::unique_ptr<SegmentStore> store, SearchPlace place);

  [[nodiscard]] std::string_view kind() const noexcept override { return kind_; }
  [[nodiscard]] std::size_t size() const override;
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override;
  [[nodiscard]] Precision precision() const override;
  [[nodiscard]] IndexStatistics statistics() const override;
  [[nodiscard]] IndexDevices devices() const override {
    return place_.searcher ? place_.searcher->devices() : IndexDevices{{}, place_.reason};
  }

  // What the index stores, without how it searches: the first lines of explain().
  [[nodiscard]] std::string describe() const;
  // What a search that begins now sees.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return store_->now(); }
  // Whether some vectors exist as codes only.
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

  std::string_view kind_;
  SearchPlace place_;
  std::unique_ptr<SegmentStore> store_;
  mutable std::atomic<std::uint64_t> searches_ = 0;
  mutable std::atomic<std::uint64_t> queries_ = 0;
  mutable std::atomic<std::uint64_t> reranked_ = 0;
};

}  // namespace vectis::inline v0_1::exact
