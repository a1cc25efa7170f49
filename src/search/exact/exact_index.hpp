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

#include "search/exact/corpus.hpp"
#include "search/exact/searcher.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// What a new index scans: int8 where there is a bound for it.
[[nodiscard]] Precision default_precision(Metric distance) noexcept;
// Whether rows may be coded: Manhattan, Chebyshev and Hamming know fp32 only.
[[nodiscard]] bool can_scan(Metric distance, Precision precision) noexcept;

// Checks what users give, and lets the corpus keep and the searcher find. Thread-safe.
class ExactIndex final : public Index {
 public:
  // `kind` is a text that lives as long as the program.
  ExactIndex(Runtime& runtime, std::string_view kind, std::unique_ptr<Corpus> corpus,
             std::unique_ptr<Searcher> searcher);

  [[nodiscard]] std::string_view kind() const noexcept override { return kind_; }
  [[nodiscard]] std::size_t dim() const noexcept override { return corpus_->dim(); }
  [[nodiscard]] Metric distance() const noexcept override { return corpus_->distance(); }
  [[nodiscard]] std::size_t size() const override;

  std::uint64_t add(std::span<const float> vectors) override;
  void add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) override;
  std::size_t remove(std::span<const std::uint64_t> ids) override;
  void update(std::uint64_t id, std::span<const float> vector) override;
  void upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) override;
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override;

  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options) const override;

  void set_precision(Precision precision) override;
  [[nodiscard]] Precision precision() const override;
  void compact() override;

  [[nodiscard]] IndexStatistics statistics() const override;
  [[nodiscard]] IndexDevices devices() const override { return searcher_->devices(); }
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const override;
  void save(ByteWriter& writer) const override;

  // What it has now.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return corpus_->now(); }
  // Whether some of it has no originals.
  [[nodiscard]] bool compacted() const;

 private:
  Runtime& runtime_;
  std::string_view kind_;
  std::unique_ptr<Searcher> searcher_;
  std::unique_ptr<Corpus> corpus_;
  mutable std::atomic<std::uint64_t> searches_ = 0;
  mutable std::atomic<std::uint64_t> queries_ = 0;
  mutable std::atomic<std::uint64_t> survivors_ = 0;
};

}  // namespace vectis::inline v0_1::exact
