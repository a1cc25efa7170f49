#include "search/graph/device_build.hpp"

#include <algorithm>
#include <vector>

#include "search/graph/device_rows.hpp"
#include "search/graph/prune.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t device_rows_min = 256;
constexpr std::size_t device_part = 8;  // of what is linked, that additions must at least be

constexpr std::size_t device_batch_max = 16384;
constexpr std::size_t device_batch_share = 32;  // a batch is at most this part of what is linked
constexpr std::size_t first_batch_max = 128;    // compared all with all
constexpr std::size_t pruned_elements_max = 1 << 20;
constexpr std::size_t device_grain = 16;

struct LongEdge {
  Slot to = 0;
  Neighbour from;
};

// The lists of all rows with the distances of links, here and on the device.
class DeviceBuild {
 public:
  DeviceBuild(Runtime& runtime, const Device& device, Body& body, std::size_t rows, std::span<const Slot> entries)
      : executor_(runtime.executor()),
        graph_(body.graph),
        entries_(entries),
        device_(runtime, device, body, rows, entries),
        lists_(rows),
        changed_(rows, 0) {}

  // Links that are there; their distances are known by codes.
  void take_links() {
    device_.take_links(executor_, graph_.links);
    executor_.parallel_for(lists_.size(), device_grain, [&](std::size_t begin, std::size_t end) {
      Pruner pruner(graph_);
      for (std::size_t i = begin; i < end; ++i) measure_links(static_cast<Slot>(i), pruner);
    });
  }

  // Rows that are compared with each other, since nothing is linked yet.
  void link_first(std::span<const Slot> slots) {
    device_.set_entries(slots);
    device_.walk_for_rows(slots, {.width = slots.size(), .nearest = slots.size()});
    without_themselves(slots);
    link_found(slots);
    device_.set_entries(entries_);
  }

  void link_batch(std::span<const Slot> slots) {
    const GraphShape& shape = graph_.shape;
    device_.walk_for_rows(slots, {.width = shape.build_width, .nearest = shape.kept, .slack = shape.build_slack});
    const auto is_entry = [&](Slot slot) { return std::ranges::find(entries_, slot) != entries_.end(); };
    if (std::ranges::any_of(slots, is_entry)) without_themselves(slots);
    link_found(slots);
  }

  void finish() {
    executor_.parallel_for(lists_.size(), device_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<Slot> list;
      for (std::size_t i = begin; i < end; ++i) {
        if (changed_[i] == 0) continue;
        list.clear();
        for (const Neighbour& one : lists_[i]) list.push_back(one.slot);
        graph_.links.write(static_cast<Slot>(i), list);
      }
    });
  }

 private:
  void measure_links(Slot slot, Pruner& pruner) {
    pruner.slots.resize(graph_.links.degree());
    pruner.slots.resize(graph_.links.read(slot, pruner.slots.data()));
    pruner.rows.clear();
    // Rows that came after these were brought are nobody's neighbours here.
    std::erase_if(pruner.slots, [&](Slot link) { return link >= lists_.size(); });
    for (const Slot link : pruner.slots) pruner.rows.push_back(graph_.codes[link]);
    pruner.scores.resize(pruner.slots.size());
    if (pruner.slots.empty()) return;
    pruner.query.set_row(graph_.frame, graph_.codes[slot]);
    graph_.score_rows(graph_.frame, pruner.query, pruner.rows.data(), pruner.rows.size(), pruner.scores.data());
    for (std::size_t i = 0; i < pruner.slots.size(); ++i) {
      lists_[slot].push_back({pruner.scores[i] + pruner.query.square(), pruner.slots[i]});
    }
  }

  // Where walks could begin at the very rows they were for.
  void without_themselves(std::span<const Slot> slots) {
    RowLists found;
    device_.fetch_found(found);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      for (std::size_t j = 0; j < found.columns; ++j) {
        std::int32_t& row = found.rows[i * found.columns + j];
        if (row == static_cast<std::int32_t>(slots[i])) row = no_row;
      }
    }
    device_.put_found(found);
  }

  // Chooses links among what was found for each of the rows, and tells those that were chosen.
  void link_found(std::span<const Slot> slots) {
    RowLists chosen;
    device_.prune_found(graph_.shape.kept, graph_.shape.reach, chosen);
    std::vector<LongEdge> edges;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      set_list(slots[i], chosen, i);
      for (const Neighbour& to : lists_[slots[i]]) edges.push_back({to.slot, {to.distance, slots[i]}});
    }
    std::sort(edges.begin(), edges.end(), [](const LongEdge& a, const LongEdge& b) {
      return a.to != b.to ? a.to < b.to : a.from.slot < b.from.slot;
    });
    std::vector<Slot> touched(slots.begin(), slots.end());
    take_in(edges, touched);
    send_links(touched);
  }

  void set_list(Slot slot, const RowLists& lists, std::size_t place) {
    std::vector<Neighbour>& list = lists_[slot];
    list.clear();
    for (std::size_t j = place * lists.columns; j < (place + 1) * lists.columns && lists.rows[j] != no_row; ++j) {
      list.push_back({lists.distances[j], static_cast<Slot>(lists.rows[j])});
    }
    changed_[slot] = 1;
  }

  // Every row that was chosen takes in who chose it; lists that become too long are pruned.
  void take_in(std::span<const LongEdge> edges, std::vector<Slot>& touched) {
    std::vector<Slot> full;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      std::vector<Neighbour>& list = lists_[edges[i].to];
      const auto same = [&](const Neighbour& one) { return one.slot == edges[i].from.slot; };
      if (std::ranges::none_of(list, same)) list.push_back(edges[i].from);
      if (i + 1 < edges.size() && edges[i + 1].to == edges[i].to) continue;
      changed_[edges[i].to] = 1;
      touched.push_back(edges[i].to);
      if (list.size() > graph_.links.degree()) full.push_back(edges[i].to);
    }
    for (std::span<const Slot> left = full; !left.empty();) left = left.subspan(prune_some(left));
  }

  // Prunes as many of these lists as fit together; returns how many.
  std::size_t prune_some(std::span<const Slot> full) {
    std::size_t count = 0;
    std::size_t longest = 0;
    while (count < full.size()) {
      const std::size_t columns = std::max(longest, std::min(lists_[full[count]].size(), device_list_max));
      if (count > 0 && (count + 1) * columns > pruned_elements_max) break;
      longest = columns;
      ++count;
    }
    RowLists lists;
    lists.resize(count, longest);
    executor_.parallel_for(count, device_grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::vector<Neighbour>& list = lists_[full[i]];
        std::sort(list.begin(), list.end());
        for (std::size_t j = 0; j < std::min(list.size(), longest); ++j) {
          lists.rows[i * longest + j] = static_cast<std::int32_t>(list[j].slot);
          lists.distances[i * longest + j] = list[j].distance;
        }
      }
    });
    device_.put_found(lists);
    RowLists chosen;
    device_.prune_found(graph_.shape.kept, graph_.shape.reach, chosen);
    for (std::size_t i = 0; i < count; ++i) set_list(full[i], chosen, i);
    return count;
  }

  void send_links(std::vector<Slot>& touched) {
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::vector<std::int32_t> links(touched.size() * device_.degree(), no_row);
    for (std::size_t i = 0; i < touched.size(); ++i) {
      const std::vector<Neighbour>& list = lists_[touched[i]];
      for (std::size_t j = 0; j < list.size(); ++j) {
        links[i * device_.degree() + j] = static_cast<std::int32_t>(list[j].slot);
      }
    }
    device_.set_links(touched, links);
  }

  Executor& executor_;
  Graph& graph_;
  std::span<const Slot> entries_;
  DeviceRows device_;
  std::vector<std::vector<Neighbour>> lists_;
  std::vector<std::uint8_t> changed_;
};

}  // namespace

bool worth_a_device(std::size_t rows, std::size_t linked) noexcept {
  return rows >= device_rows_min && rows >= linked / device_part;
}

void link_rows_on_device(Runtime& runtime, const Device& device, Body& body, std::size_t rows,
                         std::span<const Slot> entries, std::span<const Slot> slots, std::size_t linked) {
  if (slots.empty()) return;
  DeviceBuild build(runtime, device, body, rows, entries);
  if (linked > 0) {
    build.take_links();
  } else {
    linked = std::min(first_batch_max, slots.size());
    build.link_first(slots.first(linked));
    slots = slots.subspan(linked);
  }
  while (!slots.empty()) {
    const std::size_t batch =
        std::min({slots.size(), device_batch_max, std::max<std::size_t>(1, linked / device_batch_share)});
    build.link_batch(slots.first(batch));
    slots = slots.subspan(batch);
    linked += batch;
  }
  build.finish();
}

}  // namespace vectis::inline v0_1::graph
