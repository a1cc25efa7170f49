// The index of kind "auto": exact, with a graph beside the exact index once a graph pays off.
#pragma once

#include <atomic>
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
#include "search/graph/graph_index.hpp"
#include "vectis/plan/workload.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1 {

inline constexpr std::string_view auto_magic = "VECTISAU";  // the first bytes of a file with a graph

// The limits by which an AutoIndex decides to build or drop its graph. Plain data; not validated.
struct AutoRules {
  // Smaller indexes get no graph. One that shrinks below half of this drops its graph.
  std::size_t rows_min = 10'000;
  double gain_min = 3;           // predicted speed of a query, relative to the fastest exact search
  double payback_max = 200'000;  // queries after which the time saved exceeds the time to build
  double growth = 1.25;          // growth of the index after which the decision is repeated
};

// Index of kind "auto": holds every vector in an exact index, and also in a graph once a graph pays off. Searches
// with a recall below 1 use whichever the planner predicts to be faster. When a change of the graph fails, logs a
// warning and continues with the exact index alone. Thread-safe.
class AutoIndex final : public Index {
 public:
  // Takes over `exact`, which must not be null, and `graph`, which may be null and otherwise must hold the same
  // vectors. Later graphs are built with `graph_options`. `recall`, above 0 and below 1, applies to searches that set
  // none. `runtime` must outlive the index. Checks none of this.
  AutoIndex(Runtime& runtime, std::unique_ptr<exact::ExactIndex> exact, std::shared_ptr<graph::GraphIndex> graph,
            double recall, const GraphOptions& graph_options = {}, AutoRules rules = {});

  [[nodiscard]] std::string_view kind() const noexcept override { return exact_->kind(); }
  [[nodiscard]] std::size_t size() const override { return exact_->size(); }
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const override { return exact_->get(id); }
  [[nodiscard]] std::vector<std::uint64_t> ids() const override { return exact_->ids(); }
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

  // What the planner's choice depends on, apart from a filter.
  struct ChoiceKey {
    const graph::GraphIndex* graph = nullptr;
    std::size_t vectors = 0;
    std::size_t queries = 0;
    std::size_t k = 0;
    double recall = 0;
    bool operator==(const ChoiceKey&) const = default;
  };
  // The choice of the graph for a search without a filter, which the next searches like it use again: asking the
  // planner takes as long as many a search.
  struct RecentChoice {
    static constexpr std::uint32_t uses_max = 100;
    RecentChoice(const ChoiceKey& chosen_for, std::string why) : key(chosen_for), reason(std::move(why)) {}
    // Returns whether the choice is for `other` and not used up, and counts the use. Does not throw.
    [[nodiscard]] bool serves(const ChoiceKey& other) const noexcept;
    const ChoiceKey key;
    const std::string reason;
    mutable std::atomic<std::uint32_t> uses = 0;
  };
  // Returns `found` with the reason before its own. Throws std::bad_alloc when memory is exhausted.
  [[nodiscard]] static SearchResult with_reason(SearchResult found, std::string_view reason);
  [[nodiscard]] std::shared_ptr<graph::GraphIndex> graph() const;
  void set_graph(std::shared_ptr<graph::GraphIndex> graph, std::string reason);
  // Returns the placements among which the planner chooses for a search of `queries` queries: exact on the host
  // first, then exact on each device, the graph on the host last, which does the work `by_graph`.
  [[nodiscard]] std::vector<Placement> placements(std::size_t queries, std::size_t k, Workload by_graph) const;
  // Returns the work of `queries` queries by a graph that takes `query_seconds` of one thread for each.
  [[nodiscard]] Workload graph_work(std::size_t queries, double query_seconds) const;
  // Whether a graph pays off, and the predicted times that led to the decision.
  struct GraphDecision {
    bool pays_off = false;
    std::string reason;  // with the predicted times
  };
  // Predicts whether a graph of the present vectors would pay off under rules_: its queries must be gain_min times as
  // fast as the fastest exact search, and payback_max queries must save the time to build it.
  [[nodiscard]] GraphDecision decide_graph() const;
  // Replaces the graph by one of the present vectors. Throws what make_index() and Index::add() throw, and leaves the
  // graph as it was.
  void build_graph(std::string reason, const Context& context);
  // Like build_graph(), but drops the graph when that fails or the context stops it; the next change tries again then.
  void try_build_graph(std::string_view reason, const Context& context) noexcept;
  // Continues without a graph and logs a warning; without either message when memory is exhausted.
  void drop_graph(std::string_view failure) noexcept;
  using Change = std::function<void(Index&, const Context&)>;
  // Makes a change to the graph, if there is one, and then to the exact index. The graph is first because it takes
  // longest: when the context stops it, the call throws and both are as before. When the graph fails otherwise, the
  // exact index alone is changed and the graph dropped. Throws what the exact index throws. Then calls follow_size(),
  // whose failure is no failure of the change. The caller holds writer_mutex_.
  void change_both(const Change& on_graph, const Change& on_exact, const Context& context);
  // Builds or drops the graph by rules_. Does not throw when building fails or is stopped: the vectors are in the
  // exact index. Throws std::bad_alloc, and what the planner throws, before it changes anything. The caller holds
  // writer_mutex_.
  void follow_size(const Context& context);

  std::unique_ptr<exact::ExactIndex> exact_;
  const GraphOptions graph_options_;
  const AutoRules rules_;
  mutable std::mutex writer_mutex_;  // held through a change
  std::size_t decided_at_ = 0;       // vectors at the last decision; guarded by writer_mutex_
  mutable std::mutex graph_mutex_;   // guards all below
  std::shared_ptr<graph::GraphIndex> graph_;
  std::string reason_;  // why there is a graph or none
  mutable std::shared_ptr<const RecentChoice> recent_choice_;
};

// Makes an empty graph index, as make_index("graph") does after checking dimension, metric and recall. Throws what
// make_index throws for options.graph and options.device.
[[nodiscard]] std::unique_ptr<graph::GraphIndex> make_graph_index(std::size_t dim, Metric metric,
                                                                  const IndexOptions& options);

// Reads the header of an "auto" file: the bytes between auto_magic, which the caller has read, and the exact index.
// Throws Unsupported for another format version or unknown features, CorruptData for a wrong checksum or too few
// bytes.
void read_auto_header(ByteReader& reader);

}  // namespace vectis::inline v0_1
