// The index of kind "auto": exact, with a graph beside the exact index once a graph pays off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/exact/exact_index.hpp"
#include "vectis/plan/workload.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1 {

inline constexpr std::string_view auto_magic = "VECTISAU";  // the first bytes of a file with a graph

// When a graph is built and dropped.
struct AutoRules {
  // Smaller indexes get no graph. One that shrinks below half of this drops its graph.
  std::size_t rows_min = 10'000;
  double gain_min = 3;           // predicted speed of a query, relative to the fastest exact search
  double payback_max = 200'000;  // queries after which the time saved exceeds the time to build
  double growth = 1.25;          // growth of the index after which the decision is repeated
};

// Holds every vector in the exact index, and in the graph if there is one. Searches with a recall below 1 use whichever
// the planner predicts to be faster. Thread-safe.
class AutoIndex final : public Index {
 public:
  // `graph` may be null; later graphs are built with `graph_options`. `recall`, below 1, applies to searches that do
  // not set their own.
  AutoIndex(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact, std::shared_ptr<Index> graph, double recall,
            const GraphOptions& graph_options = {}, AutoRules rules = {});

  [[nodiscard]] std::string_view kind() const noexcept override { return exact_->kind(); }
  [[nodiscard]] std::size_t size() const override { return exact_->size(); }
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override { return exact_->get(id); }
  [[nodiscard]] Precision precision() const override { return exact_->precision(); }
  [[nodiscard]] IndexStatistics statistics() const override;
  [[nodiscard]] IndexDevices devices() const override { return exact_->devices(); }

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

  [[nodiscard]] std::shared_ptr<Index> graph() const;
  void set_graph(std::shared_ptr<Index> graph, std::string reason);
  // The placements of a search: exact on the host first, exact on each device, the graph last.
  [[nodiscard]] std::vector<Placement> placements(std::size_t queries, std::size_t k, double recall) const;
  struct GraphDecision {
    bool pays_off = false;
    std::string reason;  // with the predicted times
  };
  // Predicts whether a graph of the present vectors would pay off.
  [[nodiscard]] GraphDecision decide_graph() const;
  void build_graph(std::string reason, const Context& context);
  // Applies a change of the exact index to the graph, or builds or drops the graph. When that fails, logs a warning and
  // continues without a graph.
  void update_graph(const std::function<void(Index&, const Context&)>& change, const Context& context);

  std::unique_ptr<exact::ExactIndex> exact_;
  const GraphOptions graph_options_;
  const AutoRules rules_;
  mutable std::mutex writer_mutex_;  // held through a change
  std::size_t decided_at_ = 0;       // vectors at the last decision; guarded by writer_mutex_
  mutable std::mutex graph_mutex_;   // guards graph_ and reason_
  std::shared_ptr<Index> graph_;
  std::string reason_;  // why there is a graph or none
};

// Reads what follows auto_magic up to the exact index, which the graph follows; both begin with their own magic. Throws
// Unsupported for another version and CorruptData for a wrong checksum.
void read_auto_header(ByteReader& reader);

}  // namespace vectis::inline v0_1
