#include "search/graph/device.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "search/common/device_failure.hpp"
#include "search/graph/prune.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t copy_rows_max = 1 << 14;  // rows per copy
constexpr std::size_t project_grain = 64;       // rows per task

constexpr std::size_t device_build_rows_min = 256;
constexpr std::size_t device_build_divisor = 8;  // an insert must be at least 1/8 of the graph to use the device
constexpr std::size_t device_batch_max = 16384;
constexpr std::size_t device_batch_divisor = 32;  // a batch is at most 1/32 of the graph
constexpr std::size_t first_batch_max = 128;      // rows of the first batch, which are all compared with each other
constexpr std::size_t prune_elements_max = 1 << 20;
constexpr std::size_t list_grain = 16;  // lists per task

ManagedBuffer device_buffer(MemoryPool& pool, int device, std::size_t elements, Stream* stream) {
  return pool.get_managed_buffer(device, std::max<std::size_t>(elements, 1), Precision::fp32,
                                 {.stream = stream, .context = Context{}.with_memory_tag("search.graph")});
}

template <class T>
void fetch_all(Stream& stream, std::vector<T>& values, const ManagedBuffer& buffer) {
  stream.copy_to_host(std::as_writable_bytes(std::span(values)), buffer.memory(), 0);
}

struct WeightedBackLink {
  Slot to = 0;
  Neighbor from;  // with the squared distance as score
};

// Lists of all rows with distances, on the host, and the same links on the device.
class DeviceBuild {
 public:
  DeviceBuild(Runtime& runtime, const Device& device, GraphStorage& storage, std::size_t rows,
              std::span<const Slot> entry_points)
      : executor_(runtime.executor()),
        graph_(storage.graph),
        entry_points_(entry_points),
        device_(runtime, device, storage, rows, entry_points),
        lists_(rows),
        changed_(rows, 0) {}

  // Copies existing links; their distances are computed from codes.
  void copy_links() {
    device_.copy_links(executor_, graph_.links);
    executor_.parallel_for(lists_.size(), list_grain, [&](std::size_t begin, std::size_t end) {
      PruneScratch scratch(graph_);
      for (std::size_t i = begin; i < end; ++i) compute_distances(static_cast<Slot>(i), scratch);
    });
  }

  // Compares the first rows with each other, because nothing is linked yet.
  void link_first_batch(std::span<const Slot> slots) {
    device_.set_entry_points(slots);
    device_.search_rows(slots, {.k = slots.size(), .epsilon = 0, .width = slots.size()});
    remove_self_matches(slots);
    link_found(slots);
    device_.set_entry_points(entry_points_);
  }

  void link_batch(std::span<const Slot> slots) {
    device_.search_rows(slots, construction_beam(graph_.params));
    const auto is_entry_point = [&](Slot slot) {
      return std::ranges::find(entry_points_, slot) != entry_points_.end();
    };
    if (std::ranges::any_of(slots, is_entry_point)) remove_self_matches(slots);
    link_found(slots);
  }

  // Writes the changed lists to the graph.
  void finish() {
    executor_.parallel_for(lists_.size(), list_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<Slot> list;
      for (std::size_t i = begin; i < end; ++i) {
        if (changed_[i] == 0) continue;
        list.clear();
        for (const Neighbor& neighbor : lists_[i]) list.push_back(neighbor.slot());
        graph_.links.write(static_cast<Slot>(i), list);
      }
    });
  }

 private:
  void compute_distances(Slot slot, PruneScratch& scratch) {
    scratch.slots.resize(graph_.links.degree());
    scratch.slots.resize(graph_.links.read(slot, scratch.slots.data()));
    // Rows that were added after the copy are unknown to the device.
    std::erase_if(scratch.slots, [&](Slot link) { return link >= lists_.size(); });
    if (scratch.slots.empty()) return;
    distances_from_row(graph_, slot, scratch);
    for (std::size_t i = 0; i < scratch.slots.size(); ++i) {
      lists_[slot].emplace_back(scratch.scores[i], scratch.slots[i]);
    }
  }

  // A search for a row finds the row itself if it is an entry point.
  void remove_self_matches(std::span<const Slot> slots) {
    RowLists found;
    device_.fetch_found(found);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      for (std::size_t j = 0; j < found.columns; ++j) {
        std::int32_t& row = found.rows[i * found.columns + j];
        if (row == static_cast<std::int32_t>(slots[i])) row = no_row;
      }
    }
    device_.set_found(found);
  }

  // Chooses the links of `slots` among the rows that the searches found, and adds the back links.
  void link_found(std::span<const Slot> slots) {
    RowLists chosen;
    device_.prune_found(graph_.params.pruned_degree, graph_.params.alpha, chosen);
    std::vector<WeightedBackLink> back_links;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      set_list(slots[i], chosen, i);
      for (const Neighbor& to : lists_[slots[i]]) back_links.push_back({to.slot(), {to.score(), slots[i]}});
    }
    std::sort(back_links.begin(), back_links.end(), [](const WeightedBackLink& a, const WeightedBackLink& b) {
      return a.to != b.to ? a.to < b.to : a.from.slot() < b.from.slot();
    });
    std::vector<Slot> touched(slots.begin(), slots.end());
    add_back_links(back_links, touched);
    send_links(touched);
  }

  void set_list(Slot slot, const RowLists& lists, std::size_t index) {
    std::vector<Neighbor>& list = lists_[slot];
    list.clear();
    for (std::size_t j = index * lists.columns; j < (index + 1) * lists.columns && lists.rows[j] != no_row; ++j) {
      list.emplace_back(lists.distances[j], static_cast<Slot>(lists.rows[j]));
    }
    changed_[slot] = 1;
  }

  // Appends to `touched` the rows that got back links. Lists that become too long are pruned.
  void add_back_links(std::span<const WeightedBackLink> back_links, std::vector<Slot>& touched) {
    std::vector<Slot> full;
    for (std::size_t i = 0; i < back_links.size(); ++i) {
      const WeightedBackLink& link = back_links[i];
      std::vector<Neighbor>& list = lists_[link.to];
      const auto same = [&](const Neighbor& other) { return other.slot() == link.from.slot(); };
      if (std::ranges::none_of(list, same)) list.push_back(link.from);
      if (i + 1 < back_links.size() && back_links[i + 1].to == link.to) continue;
      changed_[link.to] = 1;
      touched.push_back(link.to);
      if (list.size() > graph_.links.degree()) full.push_back(link.to);
    }
    for (std::span<const Slot> left = full; !left.empty();) left = left.subspan(prune_lists(left));
  }

  // Prunes as many of these lists as fit into one launch. Returns how many.
  std::size_t prune_lists(std::span<const Slot> full) {
    std::size_t count = 0;
    std::size_t longest = 0;
    while (count < full.size()) {
      const std::size_t columns = std::max(longest, std::min(lists_[full[count]].size(), device_list_max));
      if (count > 0 && (count + 1) * columns > prune_elements_max) break;
      longest = columns;
      ++count;
    }
    RowLists lists;
    lists.reset(count, longest);
    executor_.parallel_for(count, list_grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::vector<Neighbor>& list = lists_[full[i]];
        std::sort(list.begin(), list.end());
        for (std::size_t j = 0; j < std::min(list.size(), longest); ++j) {
          lists.rows[i * longest + j] = static_cast<std::int32_t>(list[j].slot());
          lists.distances[i * longest + j] = list[j].score();
        }
      }
    });
    device_.set_found(lists);
    RowLists chosen;
    device_.prune_found(graph_.params.pruned_degree, graph_.params.alpha, chosen);
    for (std::size_t i = 0; i < count; ++i) set_list(full[i], chosen, i);
    return count;
  }

  void send_links(std::vector<Slot>& touched) {
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::vector<std::int32_t> links(touched.size() * device_.degree(), no_row);
    for (std::size_t i = 0; i < touched.size(); ++i) {
      const std::vector<Neighbor>& list = lists_[touched[i]];
      for (std::size_t j = 0; j < list.size(); ++j) {
        links[i * device_.degree() + j] = static_cast<std::int32_t>(list[j].slot());
      }
    }
    device_.set_links(touched, links);
  }

  Executor& executor_;
  Graph& graph_;
  std::span<const Slot> entry_points_;
  DeviceGraph device_;
  std::vector<std::vector<Neighbor>> lists_;
  std::vector<std::uint8_t> changed_;  // lists that finish() writes
};

}  // namespace

void RowLists::reset(std::size_t lists, std::size_t list_columns) {
  columns = list_columns;
  rows.assign(lists * columns, no_row);
  distances.assign(lists * columns, std::numeric_limits<float>::infinity());
}

DeviceGraph::DeviceGraph(Runtime& runtime, const Device& device, const GraphStorage& storage, std::size_t rows,
                         std::span<const Slot> entry_points, const std::function<bool(Slot)>& readable)
    : pool_(memory_pool(runtime)),
      device_(device.id()),
      rows_(rows),
      dim_(storage.graph.encoding.projection.output_dim),
      degree_(storage.graph.links.degree()),
      coordinates_(device_buffer(pool_, device_, rows_ * dim_, nullptr)),
      stream_(coordinates_.memory().context()),
      links_(device_buffer(pool_, device_, rows_ * degree_, nullptr)),
      entry_points_(device_buffer(pool_, device_, AdjacencyLists::degree_max, nullptr)) {
  copy_rows(runtime.executor(), storage, readable);
  run(stream_, "fill", {View(links_.memory(), DType::int32, rows_, degree_)}, {no_row});
  set_entry_points(entry_points);
}

void DeviceGraph::copy_rows(Executor& executor, const GraphStorage& storage,
                            const std::function<bool(Slot)>& readable) {
  const Projection& projection = storage.graph.encoding.projection;
  std::vector<float> projected(std::min(rows_, copy_rows_max) * dim_);
  for (std::size_t first = 0; first < rows_; first += copy_rows_max) {
    const std::size_t count = std::min(copy_rows_max, rows_ - first);
    executor.parallel_for(count, project_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<float> vector(projection.dim);
      for (std::size_t i = begin; i < end; ++i) {
        const auto slot = static_cast<Slot>(first + i);
        if (readable && !readable(slot)) {
          std::fill_n(projected.data() + i * dim_, dim_, std::numeric_limits<float>::quiet_NaN());
          continue;
        }
        storage.read_vector(slot, vector.data());
        project_row(projection, vector.data(), projected.data() + i * dim_);
      }
    });
    stream_.copy_to_device(coordinates_.memory(), first * dim_ * sizeof(float),
                           std::as_bytes(std::span<const float>(projected).first(count * dim_)));
    stream_.synchronize();
  }
}

DeviceGraph::~DeviceGraph() {
  try {
    stream_.synchronize();
  } catch (const Error&) {
    return;  // already reported to the call that synchronized first
  }
}

std::uint64_t DeviceGraph::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const ManagedBuffer* buffer : {&coordinates_, &links_, &entry_points_, &indices_, &changed_links_, &queries_,
                                      &found_, &distances_, &scored_, &chosen_, &chosen_distances_}) {
    sum += buffer->bytes();
  }
  return sum;
}

void DeviceGraph::reserve(ManagedBuffer& buffer, std::size_t elements) {
  if (buffer.elements() >= elements && buffer.bytes() > 0) return;
  buffer.release();
  buffer = device_buffer(pool_, device_, elements, &stream_);
}

void DeviceGraph::set_entry_points(std::span<const Slot> entry_points) {
  entry_point_count_ = std::min(entry_points.size(), AdjacencyLists::degree_max);
  stream_.copy_to_device(entry_points_.memory(), 0, std::as_bytes(entry_points.first(entry_point_count_)));
  stream_.synchronize();
}

void DeviceGraph::copy_indices(std::span<const Slot> slots) {
  reserve(indices_, slots.size());
  stream_.copy_to_device(indices_.memory(), 0, std::as_bytes(slots));
}

void DeviceGraph::set_links(std::span<const Slot> slots, std::span<const std::int32_t> links) {
  if (slots.empty()) return;
  copy_indices(slots);
  reserve(changed_links_, links.size());
  stream_.copy_to_device(changed_links_.memory(), 0, std::as_bytes(links));
  run(stream_, "scatter",
      {View(changed_links_.memory(), DType::int32, slots.size(), degree_),
       View(indices_.memory(), DType::int32, 1, slots.size()), View(links_.memory(), DType::int32, rows_, degree_)});
  stream_.synchronize();
}

void DeviceGraph::copy_links(Executor& executor, const AdjacencyLists& links) {
  std::vector<std::int32_t> lists;
  std::vector<Slot> slots;
  for (std::size_t first = 0; first < rows_; first += copy_rows_max) {
    const std::size_t count = std::min(copy_rows_max, rows_ - first);
    lists.assign(count * degree_, no_row);
    slots.resize(count);
    std::iota(slots.begin(), slots.end(), static_cast<Slot>(first));
    executor.parallel_for(count, project_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<Slot> list(degree_);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t length = links.read(slots[i], list.data());
        for (std::size_t j = 0; j < length; ++j) lists[i * degree_ + j] = static_cast<std::int32_t>(list[j]);
      }
    });
    set_links(slots, lists);
  }
}

void DeviceGraph::search_rows(std::span<const Slot> slots, const BeamParams& params) {
  copy_indices(slots);
  reserve(queries_, slots.size() * dim_);
  run(stream_, "gather",
      {all_rows(), View(indices_.memory(), DType::int32, 1, slots.size()),
       View(queries_.memory(), DType::float32, slots.size(), dim_)});
  search(slots.size(), params);
}

void DeviceGraph::search_queries(std::span<const float> queries, const BeamParams& params) {
  reserve(queries_, queries.size());
  stream_.copy_to_device(queries_.memory(), 0, std::as_bytes(queries));
  search(queries.size() / dim_, params);
}

void DeviceGraph::search(std::size_t queries, const BeamParams& params) {
  lists_ = queries;
  width_ = std::min(params.width, device_list_max);
  reserve(found_, lists_ * width_);
  reserve(distances_, lists_ * width_);
  reserve(scored_, lists_);
  run(stream_, "graph_search",
      {all_rows(), View(queries_.memory(), DType::float32, lists_, dim_),
       View(links_.memory(), DType::int32, rows_, degree_),
       View(entry_points_.memory(), DType::int32, 1, entry_point_count_),
       View(found_.memory(), DType::int32, lists_, width_), View(distances_.memory(), DType::float32, lists_, width_),
       View(scored_.memory(), DType::int32, lists_, 1)},
      {static_cast<std::int64_t>(params.k), double{params.epsilon}});
  stream_.synchronize();
}

void DeviceGraph::fetch_found(RowLists& found) {
  found.reset(lists_, width_);
  fetch_all(stream_, found.rows, found_);
  fetch_all(stream_, found.distances, distances_);
  stream_.synchronize();
}

void DeviceGraph::set_found(const RowLists& found) {
  lists_ = found.lists();
  width_ = found.columns;
  reserve(found_, lists_ * width_);
  reserve(distances_, lists_ * width_);
  stream_.copy_to_device(found_.memory(), 0, std::as_bytes(std::span(found.rows)));
  stream_.copy_to_device(distances_.memory(), 0, std::as_bytes(std::span(found.distances)));
  stream_.synchronize();
}

std::uint64_t DeviceGraph::fetch_scored() {
  std::vector<std::int32_t> scored(lists_);
  fetch_all(stream_, scored, scored_);
  stream_.synchronize();
  return std::accumulate(scored.begin(), scored.end(), std::uint64_t{0},
                         [](std::uint64_t sum, std::int32_t rows) { return sum + static_cast<std::uint32_t>(rows); });
}

void DeviceGraph::prune_found(std::size_t count, float alpha, RowLists& chosen) {
  chosen.reset(lists_, count);
  reserve(chosen_, lists_ * count);
  reserve(chosen_distances_, lists_ * count);
  run(stream_, "graph_prune",
      {all_rows(), View(found_.memory(), DType::int32, lists_, width_),
       View(distances_.memory(), DType::float32, lists_, width_), View(chosen_.memory(), DType::int32, lists_, count),
       View(chosen_distances_.memory(), DType::float32, lists_, count)},
      {double{alpha}});
  fetch_all(stream_, chosen.rows, chosen_);
  fetch_all(stream_, chosen.distances, chosen_distances_);
  stream_.synchronize();
}

std::uint64_t DeviceGraphSearcher::bytes() const {
  const std::lock_guard lock(mutex_);
  return graph_ ? graph_->bytes() : 0;
}

bool DeviceGraphSearcher::copy_to_device(const Epoch& epoch) {
  if (graph_ && epoch_ >= epoch.number) return epoch_ == epoch.number;
  graph_.reset();
  // A row that is not visible in the epoch may be overwritten right now. Unlike on the host, tombstones are not
  // traversed.
  const RowVersions& versions = epoch.storage->versions;
  auto copy = std::make_unique<DeviceGraph>(runtime_, device_, *epoch.storage, epoch.rows, epoch.entry_points,
                                            [&](Slot slot) { return versions.visible(slot, epoch.number); });
  copy->copy_links(runtime_.executor(), epoch.storage->graph.links);
  graph_ = std::move(copy);
  epoch_ = epoch.number;
  return true;
}

std::optional<std::uint64_t> DeviceGraphSearcher::search(const Epoch& epoch, const BeamParams& params,
                                                         std::span<const float> queries, RowLists& found) {
  const Projection& projection = epoch.storage->graph.encoding.projection;
  const std::size_t count = queries.size() / projection.dim;
  std::vector<float> projected(count * projection.output_dim);
  runtime_.executor().parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      project_query_as_row(projection, queries.data() + i * projection.dim,
                           projected.data() + i * projection.output_dim);
    }
  });
  const std::lock_guard lock(mutex_);
  try {
    if (!copy_to_device(epoch)) return std::nullopt;
    graph_->search_queries(projected, params);
    graph_->fetch_found(found);
    return graph_->fetch_scored();
  } catch (...) {
    graph_.reset();  // a failed stream fails every later call
    detail::rethrow_as_device_failure(device_);
  }
}

bool worth_device_build(std::size_t new_rows, std::size_t linked_rows) noexcept {
  return new_rows >= device_build_rows_min && new_rows >= linked_rows / device_build_divisor;
}

void link_rows_on_device(Runtime& runtime, const Device& device, GraphStorage& storage, std::size_t rows,
                         std::span<const Slot> entry_points, std::span<const Slot> slots, std::size_t linked_rows,
                         const LinkProgress& progress) {
  if (slots.empty()) return;
  DeviceBuild build(runtime, device, storage, rows, entry_points);
  std::size_t done = 0;
  if (linked_rows > 0) {
    build.copy_links();
  } else {
    done = std::min(first_batch_max, slots.size());
    build.link_first_batch(slots.first(done));
  }
  while (done < slots.size()) {
    const std::size_t batch = std::min(
        {slots.size() - done, device_batch_max, std::max<std::size_t>(1, (linked_rows + done) / device_batch_divisor)});
    build.link_batch(slots.subspan(done, batch));
    done += batch;
    if (progress) progress(done);
  }
  build.finish();
}

}  // namespace vectis::inline v0_1::graph
