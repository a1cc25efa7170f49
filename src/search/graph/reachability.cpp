#include "search/graph/reachability.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "search/graph/beam_search.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t links_to_unreachable = 2;  // so that a search may come from two sides
constexpr std::size_t connected_read = 64;       // rows connected last that are considered
constexpr std::size_t stop_interval = 64;        // rows between two calls of `stop`
constexpr std::size_t expanded_at_once = 64;     // rows
constexpr Work expanded_work = 4;                // a list is read, and a mark for each of its rows
constexpr std::size_t grown_at_once = 4096;      // rows

// A search of all reachable rows that can go on from further rows. It remembers the link that led to each row: these
// form trees, so that any other link may go. It also counts the links to every row.
class Reached {
 public:
  Reached(const Graph& graph, std::size_t row_count) : graph_(graph), list_(graph.links.degree()) {
    parent_.reserve(row_count);
    links_to_.reserve(row_count);
  }

  // Makes room for the first `rows` rows.
  void grow(std::size_t rows) {
    parent_.resize(rows, unreached);
    links_to_.resize(rows);
  }
  // Expands a row that `parent` links to, or an entry point, its own parent, and all rows that it leads to.
  void expand_from(Slot start, Slot parent) {
    reach(start, parent);
    while (expand_some(expanded_at_once)) {
    }
  }
  // Reaches a row that `parent` links to, or an entry point, its own parent, without expanding it.
  void reach(Slot row, Slot parent) {
    if (parent_[row] != unreached) return;
    parent_[row] = parent;
    queue_.push_back(row);
  }
  // Expands at most `count` rows; returns whether there are more.
  bool expand_some(std::size_t count) {
    for (; !queue_.empty() && count > 0; --count) {
      const Slot row = queue_.back();
      queue_.pop_back();
      const std::size_t links = graph_.links.read(row, list_.data());
      for (std::size_t i = 0; i < links; ++i) {
        if (list_[i] >= parent_.size()) continue;  // linked since
        count_link(list_[i]);
        reach(list_[i], row);
      }
    }
    return !queue_.empty();
  }
  [[nodiscard]] std::size_t rows() const { return parent_.size(); }
  [[nodiscard]] bool operator[](Slot row) const { return parent_[row] != unreached; }
  [[nodiscard]] Slot parent(Slot row) const { return parent_[row]; }
  [[nodiscard]] std::uint32_t links_to(Slot row) const { return links_to_[row]; }
  void count_link(Slot to) { ++links_to_[to]; }
  void count_lost_link(Slot to) { links_to_[to] -= std::min(links_to_[to], 1U); }

 private:
  static constexpr Slot unreached = AdjacencyLists::no_link;
  const Graph& graph_;
  std::vector<Slot> parent_;
  std::vector<std::uint32_t> links_to_;  // from reached rows
  std::vector<Slot> queue_;
  std::vector<Slot> list_;
};

Reached reached_from(const Graph& graph, std::span<const Slot> entry_points, std::size_t row_count) {
  Reached reached(graph, row_count);
  reached.grow(row_count);
  for (const Slot entry_point : entry_points) reached.expand_from(entry_point, entry_point);
  return reached;
}

// Adds links to one row after the other.
class Connector {
 public:
  // `reached` are the rows that a search from `entry_points` reaches.
  Connector(Graph& graph, std::span<const Slot> entry_points, const std::function<bool(Slot)>& wanted, Reached reached)
      : graph_(graph), entry_points_(entry_points), wanted_(wanted), reached_(std::move(reached)), scratch_(graph) {}

  [[nodiscard]] bool reached(Slot row) const { return reached_[row]; }
  [[nodiscard]] std::uint64_t scored() const { return scratch_.scored; }
  // Expands rows that were connected; see Reached.
  bool expand_some(std::size_t count) { return reached_.expand_some(count); }

  // Links a row that is not reached; the rows that it leads to are not expanded yet.
  void connect(Slot row) {
    find_nearest(row);
    std::optional<Slot> parent;
    std::size_t links = 0;
    for (const Slot from : nearest_) {
      if (links == links_to_unreachable || !add_link(from, row, std::nullopt)) continue;
      if (links++ == 0) parent = from;
    }
    if (!parent) parent = link_from_connected(row);
    for (std::size_t i = 0; i < nearest_.size() && !parent; ++i) {
      const std::optional<Slot> given_up = replaceable_link(nearest_[i]);
      if (given_up && add_link(nearest_[i], row, given_up)) parent = nearest_[i];
    }
    if (!parent) parent = link_from_any(row);
    if (!parent) return;
    reached_.reach(row, *parent);
    connected_.push_back(row);
  }

 private:
  // Links from one of the rows that were connected last, if it is as near as those that were found and has room: among
  // many equal rows, searches find the same few, whose lists are full.
  std::optional<Slot> link_from_connected(Slot row) {
    const std::size_t first = connected_.size() - std::min(connected_.size(), connected_read);
    for (std::size_t i = first; i < connected_.size(); ++i) {
      const std::byte* const codes = graph_.codes[connected_[i]];
      float score = 0;
      graph_.score_rows(graph_.encoding.quantizer, scratch_.query, &codes, 1, &score);
      if (score <= scratch_.best.worst_score() && add_link(connected_[i], row, std::nullopt)) return connected_[i];
    }
    return std::nullopt;
  }

  // Links from the first reachable row that has room, however far: rows may be farther from each other than from those
  // that a search finds, such as zero vectors under cosine.
  std::optional<Slot> link_from_any(Slot row) {
    for (; first_open_ < reached_.rows(); ++first_open_) {
      if (reached_[first_open_] && wanted_(first_open_) && add_link(first_open_, row, std::nullopt)) return first_open_;
    }
    return std::nullopt;
  }

  // The wanted rows that a search for the row finds, which are reachable.
  void find_nearest(Slot row) {
    scratch_.query.set_row(graph_.encoding.quantizer, graph_.codes[row]);
    beam_search(graph_, entry_points_, construction_beam(graph_.params), scratch_);
    nearest_.clear();
    for (const Neighbor& found : scratch_.best.sorted()) {
      if (wanted_(found.slot()) && found.slot() != row) nearest_.push_back(found.slot());
    }
  }

  // Of the links of `from` that are not the way to a row, the one whose row most others link to.
  std::optional<Slot> replaceable_link(Slot from) {
    list_.resize(graph_.links.degree());
    list_.resize(graph_.links.read(from, list_.data()));
    std::erase_if(list_, [&](Slot row) { return row >= reached_.rows() || reached_.parent(row) == from; });
    const auto most = std::ranges::max_element(list_, {}, [&](Slot row) { return reached_.links_to(row); });
    return most == list_.end() ? std::nullopt : std::optional(*most);
  }

  // Adds a link, in place of `given_up`. Returns false when there is no room.
  bool add_link(Slot from, Slot to, std::optional<Slot> given_up) {
    list_.resize(graph_.links.degree() + 1);
    std::size_t count = graph_.links.read(from, list_.data());
    if (given_up) {
      *std::find(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(count), *given_up) = to;
      reached_.count_lost_link(*given_up);
    } else {
      if (count == graph_.links.degree()) return false;
      list_[count++] = to;
    }
    graph_.links.write(from, std::span(list_).first(count));
    reached_.count_link(to);
    return true;
  }

  Graph& graph_;
  std::span<const Slot> entry_points_;
  const std::function<bool(Slot)>& wanted_;
  Reached reached_;
  SearchScratch scratch_;
  std::vector<Slot> nearest_;
  std::vector<Slot> connected_;
  Slot first_open_ = 0;  // rows before it have no room, or were not reached when it passed them
  std::vector<Slot> list_;
};

}  // namespace

std::vector<Slot> unreachable_rows(const Graph& graph, std::span<const Slot> entry_points, std::size_t row_count,
                                   const std::function<bool(Slot)>& wanted) {
  const Reached reached = reached_from(graph, entry_points, row_count);
  std::vector<Slot> unreachable;
  for (Slot row = 0; row < row_count; ++row) {
    if (!reached[row] && wanted(row)) unreachable.push_back(row);
  }
  return unreachable;
}

std::size_t connect_unreachable(Graph& graph, std::span<const Slot> entry_points, std::size_t row_count,
                                const std::function<bool(Slot)>& wanted, const std::function<void()>& stop) {
  Connector connector(graph, entry_points, wanted, reached_from(graph, entry_points, row_count));
  std::size_t connected = 0;
  for (Slot row = 0; row < row_count; ++row) {
    if (connector.reached(row) || !wanted(row)) continue;
    if (stop && connected % stop_interval == 0) stop();
    connector.connect(row);
    while (connector.expand_some(expanded_at_once)) {
    }
    ++connected;
  }
  return connected;
}

Steps connect_unreachable_in_steps(Graph* graph, std::vector<Slot> entry_points, std::size_t row_count,
                                   std::function<bool(Slot)> wanted) {
  constexpr Work step_work = expanded_at_once * expanded_work;
  Reached reached(*graph, row_count);
  for (std::size_t rows = 0; rows < row_count;) {
    rows = std::min(row_count, rows + grown_at_once);
    reached.grow(rows);
    co_yield Pause{.done = step_work, .next = step_work};
  }
  for (const Slot entry_point : entry_points) reached.reach(entry_point, entry_point);
  while (reached.expand_some(expanded_at_once)) co_yield Pause{.done = step_work, .next = step_work};
  Connector connector(*graph, entry_points, wanted, std::move(reached));
  for (Slot row = 0; row < row_count; ++row) {
    if (row % grown_at_once == 0) co_yield Pause{.done = step_work, .next = step_work};
    if (connector.reached(row) || !wanted(row)) continue;
    const std::uint64_t before = connector.scored();
    connector.connect(row);
    co_yield Pause{.done = connector.scored() - before, .next = connector.scored() - before};
    while (connector.expand_some(expanded_at_once)) co_yield Pause{.done = step_work, .next = step_work};
  }
}

}  // namespace vectis::inline v0_1::graph
