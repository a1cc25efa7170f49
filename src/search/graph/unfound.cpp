#include "search/graph/unfound.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "search/graph/prune.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t searched_batch = 4096;  // rows that are searched for before links are added
constexpr std::size_t searched_grain = 16;    // rows per task
constexpr std::size_t passes_max = 3;         // over rows that were not found
constexpr std::size_t added_max = 4;          // links that a row gets in a batch: the rows may lead to each other

// The shortest search that calibration tries; longer ones expand the same rows first.
constexpr BeamParams short_beam{.k = 10, .epsilon = 0.5F, .width = 10};

// A row that a search for it does not find, and the nearest rows that are found instead: expanded, unless many others
// are as near.
struct Unfound {
  Slot row = AdjacencyLists::no_link;  // no_link: it is found
  std::array<Slot, BeamParams::expanded_min> nearest = {};
};

// Searches for a row. It also counts as found when others that are as near take its place.
Unfound search_for(const Graph& graph, std::span<const Slot> entry_points, Slot row, SearchScratch& scratch) {
  const std::byte* const codes = graph.codes[row];
  scratch.query.set_row(graph.encoding.quantizer, codes);
  float score = 0;
  graph.score_rows(graph.encoding.quantizer, scratch.query, &codes, 1, &score);
  beam_search(graph, entry_points, short_beam, scratch);
  const std::span<const Neighbor> found = scratch.best.sorted();
  Unfound result;
  if (found.size() < short_beam.k || scratch.best.worst_score() <= score ||
      std::ranges::any_of(found, [&](const Neighbor& one) { return one.slot() == row; })) {
    return result;
  }
  result.row = row;
  for (std::size_t i = 0; i < result.nearest.size(); ++i) result.nearest[i] = found[i].slot();
  return result;
}

// Adds links to the rows of a batch that were not found.
class Linker {
 public:
  explicit Linker(Graph& graph) : graph_(graph), prune_(graph) {}

  // Links the row from the nearest of those found that has room, or else from the nearest, whose list it prunes.
  void link(const Unfound& unfound) {
    for (const Slot from : unfound.nearest) {
      if (add(from, unfound.row)) return;
    }
    const Slot from = unfound.nearest.front();
    if (added_[from] == added_max) return;
    read(from);
    robust_prune_slots(graph_, from, list_, std::min(graph_.params.pruned_degree, graph_.links.degree() - 1), prune_);
    graph_.links.write(from, prune_.chosen);
    add(from, unfound.row);
  }

 private:
  void read(Slot from) {
    list_.resize(graph_.links.degree());
    list_.resize(graph_.links.read(from, list_.data()));
  }
  // Returns false when there is no room, or the row has got enough links. Keeps a link that is there.
  bool add(Slot from, Slot to) {
    read(from);
    if (std::ranges::find(list_, to) != list_.end()) return true;
    if (list_.size() == graph_.links.degree() || added_[from] == added_max) return false;
    list_.push_back(to);
    graph_.links.write(from, list_);
    ++added_[from];
    return true;
  }

  Graph& graph_;
  PruneScratch prune_;
  std::vector<Slot> list_;
  std::unordered_map<Slot, std::size_t> added_;
};

// Adds links for those of `rows` that are not found, and appends these to `unfound`.
void link_batch_of_unfound(Executor& executor, Graph& graph, std::span<const Slot> entry_points,
                           std::span<const Slot> rows, std::vector<Slot>& unfound) {
  std::vector<Unfound> searched(rows.size());
  executor.parallel_for(rows.size(), searched_grain, [&](std::size_t begin, std::size_t end) {
    SearchScratch scratch(graph);
    for (std::size_t i = begin; i < end; ++i) searched[i] = search_for(graph, entry_points, rows[i], scratch);
  });
  Linker linker(graph);
  for (const Unfound& one : searched) {
    if (one.row == AdjacencyLists::no_link) continue;
    unfound.push_back(one.row);
    linker.link(one);
  }
}

}  // namespace

std::size_t link_unfound(Executor& executor, Graph& graph, std::span<const Slot> entry_points,
                         std::span<const Slot> rows, const std::function<void()>& stop) {
  std::vector<Slot> searched(rows.begin(), rows.end());
  std::size_t first_unfound = 0;
  for (std::size_t pass = 0; pass < passes_max && !searched.empty(); ++pass) {
    std::vector<Slot> unfound;
    for (std::size_t done = 0; done < searched.size(); done += searched_batch) {
      if (stop) stop();
      const auto batch = std::span(searched).subspan(done, std::min(searched_batch, searched.size() - done));
      link_batch_of_unfound(executor, graph, entry_points, batch, unfound);
    }
    if (pass == 0) first_unfound = unfound.size();
    searched = std::move(unfound);
  }
  return first_unfound;
}

Work link_unfound_row(Graph& graph, std::span<const Slot> entry_points, Slot row, SearchScratch& scratch) {
  const std::uint64_t before = scratch.scored;
  for (std::size_t pass = 0; pass < passes_max; ++pass) {
    const Unfound unfound = search_for(graph, entry_points, row, scratch);
    if (unfound.row == AdjacencyLists::no_link) break;
    Linker(graph).link(unfound);
  }
  return scratch.scored - before;
}

}  // namespace vectis::inline v0_1::graph
