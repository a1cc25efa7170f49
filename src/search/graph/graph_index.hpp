// The index that walks a graph over quantised vectors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/graph/corpus.hpp"
#include "search/graph/device_look.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::string_view kind_hnsw = "hnsw";

// InvalidInput for a shape that means nothing, Unsupported for a distance that has no codes.
void check_graph(std::string_view op, Metric distance, const GraphShape& shape);

// Checks what users give, chooses how to search, and lets the corpus keep. Thread-safe.
class GraphIndex final : public Index {
 public:
  // Large additions are linked, and walks without a filter are done, on the device if one is given, for the reason.
  GraphIndex(Runtime& runtime, std::unique_ptr<Corpus> corpus, const std::optional<Device>& device = std::nullopt,
             std::string reason = {});
  ~GraphIndex() override;

  [[nodiscard]] std::string_view kind() const noexcept override { return kind_hnsw; }
  [[nodiscard]] std::size_t dim() const noexcept override { return corpus_->dim(); }
  [[nodiscard]] Metric distance() const noexcept override { return corpus_->distance(); }
  [[nodiscard]] std::size_t size() const override { return corpus_->now()->live; }

  std::uint64_t add(std::span<const float> vectors) override;
  void add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) override;
  std::size_t remove(std::span<const std::uint64_t> ids) override;
  void update(std::uint64_t id, std::span<const float> vector) override;
  void upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) override;
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override;

  [[nodiscard]] SearchResult search(std::span<const float> queries, std::size_t k,
                                    const SearchOptions& options) const override;

  void set_precision(Precision precision) override;
  [[nodiscard]] Precision precision() const override { return Precision::int8; }
  void compact() override;

  [[nodiscard]] IndexDevices devices() const override;
  [[nodiscard]] IndexStatistics statistics() const override;
  [[nodiscard]] std::string explain(std::size_t queries, std::size_t k) const override;
  void save(ByteWriter& writer) const override;

 private:
  class Borrowed;
  struct Plan;
  void make_plan(std::size_t k, const SearchOptions& options, Plan& plan) const;
  [[nodiscard]] std::span<const Slot> rows_among(const Plan& plan) const;
  void answer(const Plan& plan, const float* query, Walker& walker, std::vector<Hit>& hits) const;
  void search_here(const Plan& plan, std::span<const float> queries, const SearchOptions& options,
                   std::vector<std::vector<Hit>>& found) const;
  void search_on_device(const Plan& plan, std::span<const float> queries, const SearchOptions& options,
                        std::vector<std::vector<Hit>>& found) const;

  Runtime& runtime_;
  std::unique_ptr<Corpus> corpus_;
  std::unique_ptr<DeviceLook> device_;  // null: this processor
  std::string device_reason_;
  mutable std::mutex walkers_mutex_;
  mutable std::vector<std::unique_ptr<Walker>> walkers_;  // at rest; each search borrows some
  mutable std::atomic<std::uint64_t> searches_ = 0;
  mutable std::atomic<std::uint64_t> queries_ = 0;
  mutable std::atomic<std::uint64_t> scored_ = 0;
};

}  // namespace vectis::inline v0_1::graph
