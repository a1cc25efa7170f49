// The index of kind "graph": beam search over quantized vectors, reranked by the originals.
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

#include "search/graph/device.hpp"
#include "search/graph/exact_scan.hpp"
#include "search/graph/store.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::string_view kind_graph = "graph";

// Throws Unsupported for a metric other than l2, l2_squared, cosine and inner_product, and InvalidInput when a
// parameter is out of range: degree 4 to 255, pruned_degree 2 to degree, ef_construction pruned_degree to 4096, alpha
// and construction_epsilon 1 to 4. `op` is the public call that the message names.
void validate_graph(std::string_view op, Metric metric, const GraphParams& params);

// Index of kind "graph": approximate search over a proximity graph. Plans and counts searches; the store holds the
// rows. Searches throw InvalidInput for options out of range, and the error of the device they run on. Thread-safe.
class GraphIndex final : public Index {
 public:
  // Takes over `store`, which must not be null. With a device, large additions are linked and unfiltered searches run
  // there; `reason` says why that device. Searches that set neither recall nor ef use `recall`, 0 < recall <= 1 (not
  // checked). `runtime` must outlive the index.
  GraphIndex(Runtime& runtime, std::unique_ptr<GraphStore> store, const std::optional<Device>& device = std::nullopt,
             std::string reason = {}, double recall = default_recall);
  ~GraphIndex() override;

  [[nodiscard]] std::string_view kind() const noexcept override { return kind_graph; }
  [[nodiscard]] std::size_t size() const override { return store_->now()->live; }
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override;
  [[nodiscard]] std::vector<std::uint64_t> ids() const override;
  [[nodiscard]] Precision precision() const override { return Precision::int8; }
  [[nodiscard]] IndexDevices devices() const override;
  [[nodiscard]] IndexStatistics statistics() const override;
  // Returns the predicted seconds of one thread for each of `queries` queries that search() would answer by beam
  // searches, or by scans that end early; nullopt when it would scan all rows. `options.filter` must outlive the call.
  // Throws std::bad_alloc.
  [[nodiscard]] std::optional<double> query_seconds(std::size_t queries, std::size_t k,
                                                    const SearchOptions& options) const;
  // Returns a copy of the vectors and links, for save_contents(). Waits for a running change. Throws Cancelled or
  // DeadlineExceeded as `context` says, Allocation or std::bad_alloc when memory is exhausted.
  [[nodiscard]] GraphContents contents(const Context& context) const { return store_->contents(context); }
  // Writes `contents`, which must be of contents(), as save() does. Throws what the writer throws, Cancelled or
  // DeadlineExceeded as `context` says.
  void save_contents(ByteWriter& writer, const GraphContents& contents, const Context& context) const;

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
  [[nodiscard]] bool has_beam() const noexcept override { return true; }

  class ScratchLease;
  struct SearchPlan;
  struct CheckedQueries;
  // Decides how `queries` queries for the `k` nearest are answered.
  void make_plan(std::size_t queries, std::size_t k, const SearchOptions& options, SearchPlan& plan) const;
  void plan_search(std::size_t queries, const SearchOptions& options, SearchPlan& plan) const;
  // Sets the beam of the plan and its reason, and returns the expected cost; nullopt when no beam is known to suffice.
  std::optional<SearchSetting> choose_beam(std::size_t queries, const SearchOptions& options, SearchPlan& plan) const;
  // Decides which answers of beam searches are checked.
  void plan_check(const SearchOptions& options, SearchPlan& plan) const;
  [[nodiscard]] ScannedSlots allowed_rows(const SearchPlan& plan) const;
  // Answers the queries, at most exact_scan_queries, by an exact scan of all rows that may be found, on this thread.
  void scan_block(const SearchPlan& plan, std::span<const float> queries, std::span<std::vector<Hit>> found) const;
  // Answers any number of queries by the cheapest exact scan of all rows that may be found, on all threads.
  void scan_exactly(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                    std::span<std::vector<Hit>> found) const;
  // Answers the queries that beam searches left unanswered (0) by an exact scan.
  void scan_unanswered(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                       std::span<const std::uint8_t> answered, std::span<std::vector<Hit>> found) const;
  // Answers the queries as the plan says.
  void answer(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
              std::span<std::vector<Hit>> found) const;
  void search_on_host(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                      std::span<std::vector<Hit>> found) const;
  void search_on_device(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                        std::span<std::vector<Hit>> found) const;

  // Answers some of the queries by beam searches and by scans, if that is due, and leaves what the scans found in
  // `checked`. Returns whether searches go further from now on than planned.
  bool check_queries(const SearchPlan& plan, std::span<const float> queries, const SearchOptions& options,
                     CheckedQueries& checked) const;

  std::unique_ptr<GraphStore> store_;
  std::unique_ptr<DeviceGraphSearcher> device_;  // null: the host searches
  std::string device_reason_;
  mutable std::mutex scratch_mutex_;
  mutable std::vector<std::unique_ptr<SearchScratch>> idle_scratch_;
  mutable std::atomic<std::uint64_t> searches_ = 0;
  mutable std::atomic<std::uint64_t> queries_ = 0;
  mutable std::atomic<std::uint64_t> reranked_ = 0;
};

}  // namespace vectis::inline v0_1::graph
