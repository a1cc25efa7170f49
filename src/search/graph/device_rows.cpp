#include "search/graph/device_rows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t rows_at_once = 1 << 14;  // brought to the device
constexpr std::size_t place_grain = 64;

ManagedBuffer device_buffer(MemoryPool& pool, int device, std::size_t elements, Stream* stream) {
  return pool.get_managed_buffer(device, std::max<std::size_t>(elements, 1), Precision::fp32,
                                 {.stream = stream, .context = Context{}.with_memory_tag("search.graph")});
}

template <class T>
void fetch_all(Stream& stream, std::vector<T>& values, const ManagedBuffer& buffer) {
  stream.copy_to_host(std::as_writable_bytes(std::span(values)), buffer.memory(), 0);
}

}  // namespace

void RowLists::resize(std::size_t lists, std::size_t made_columns) {
  columns = made_columns;
  rows.assign(lists * columns, no_row);
  distances.assign(lists * columns, std::numeric_limits<float>::infinity());
}

DeviceRows::DeviceRows(Runtime& runtime, const Device& device, const Body& body, std::size_t rows,
                       std::span<const Slot> entries, const std::function<bool(Slot)>& known)
    : pool_(memory_pool(runtime)),
      device_(device.id()),
      rows_(rows),
      dim_(body.graph.frame.coded_dim),
      degree_(body.graph.links.degree()),
      coordinates_(device_buffer(pool_, device_, rows_ * dim_, nullptr)),
      stream_(coordinates_.memory().context()),
      links_(device_buffer(pool_, device_, rows_ * degree_, nullptr)),
      entries_(device_buffer(pool_, device_, Links::degree_max, nullptr)) {
  bring(runtime.executor(), body, known);
  run(stream_, "fill", {View(links_.memory(), DType::int32, rows_, degree_)}, {no_row});
  set_entries(entries);
}

void DeviceRows::bring(Executor& executor, const Body& body, const std::function<bool(Slot)>& known) {
  std::vector<float> placed(std::min(rows_, rows_at_once) * dim_);
  for (std::size_t first = 0; first < rows_; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, rows_ - first);
    executor.parallel_for(count, place_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<float> vector(body.graph.frame.dim);
      for (std::size_t i = begin; i < end; ++i) {
        const auto slot = static_cast<Slot>(first + i);
        if (known && !known(slot)) {
          std::fill_n(placed.data() + i * dim_, dim_, std::numeric_limits<float>::quiet_NaN());
          continue;
        }
        body.read_row(slot, vector.data());
        place_row(body.graph.frame, vector.data(), placed.data() + i * dim_);
      }
    });
    stream_.copy_to_device(coordinates_.memory(), first * dim_ * sizeof(float),
                           std::as_bytes(std::span<const float>(placed).first(count * dim_)));
    stream_.synchronize();
  }
}

DeviceRows::~DeviceRows() {
  try {
    stream_.synchronize();
  } catch (const Error&) {
    return;  // told already, to who waited first
  }
}

std::uint64_t DeviceRows::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const ManagedBuffer* buffer : {&coordinates_, &links_, &entries_, &indices_, &some_links_, &queries_, &found_,
                                      &distances_, &scored_, &chosen_, &chosen_distances_}) {
    sum += buffer->bytes();
  }
  return sum;
}

void DeviceRows::need(ManagedBuffer& buffer, std::size_t elements) {
  if (buffer.elements() >= elements && buffer.bytes() > 0) return;
  buffer.release();
  buffer = device_buffer(pool_, device_, elements, &stream_);
}

void DeviceRows::set_entries(std::span<const Slot> entries) {
  entry_count_ = std::min(entries.size(), Links::degree_max);
  stream_.copy_to_device(entries_.memory(), 0, std::as_bytes(entries.first(entry_count_)));
  stream_.synchronize();
}

void DeviceRows::send_indices(std::span<const Slot> slots) {
  need(indices_, slots.size());
  stream_.copy_to_device(indices_.memory(), 0, std::as_bytes(slots));
}

void DeviceRows::set_links(std::span<const Slot> slots, std::span<const std::int32_t> links) {
  if (slots.empty()) return;
  send_indices(slots);
  need(some_links_, links.size());
  stream_.copy_to_device(some_links_.memory(), 0, std::as_bytes(links));
  run(stream_, "scatter",
      {View(some_links_.memory(), DType::int32, slots.size(), degree_),
       View(indices_.memory(), DType::int32, 1, slots.size()), View(links_.memory(), DType::int32, rows_, degree_)});
  stream_.synchronize();
}

void DeviceRows::take_links(Executor& executor, const Links& links) {
  std::vector<std::int32_t> lists;
  std::vector<Slot> slots;
  for (std::size_t first = 0; first < rows_; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, rows_ - first);
    lists.assign(count * degree_, no_row);
    slots.resize(count);
    std::iota(slots.begin(), slots.end(), static_cast<Slot>(first));
    executor.parallel_for(count, place_grain, [&](std::size_t begin, std::size_t end) {
      std::vector<Slot> list(degree_);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t length = links.read(slots[i], list.data());
        for (std::size_t j = 0; j < length; ++j) lists[i * degree_ + j] = static_cast<std::int32_t>(list[j]);
      }
    });
    set_links(slots, lists);
  }
}

void DeviceRows::walk_for_rows(std::span<const Slot> slots, const Walk& how) {
  send_indices(slots);
  need(queries_, slots.size() * dim_);
  run(stream_, "gather",
      {whole(), View(indices_.memory(), DType::int32, 1, slots.size()),
       View(queries_.memory(), DType::float32, slots.size(), dim_)});
  walk(slots.size(), how);
}

void DeviceRows::walk_for_queries(std::span<const float> queries, const Walk& how) {
  need(queries_, queries.size());
  stream_.copy_to_device(queries_.memory(), 0, std::as_bytes(queries));
  walk(queries.size() / dim_, how);
}

void DeviceRows::walk(std::size_t queries, const Walk& how) {
  lists_ = queries;
  width_ = std::min(how.width, device_list_max);
  need(found_, lists_ * width_);
  need(distances_, lists_ * width_);
  need(scored_, lists_);
  run(stream_, "graph_search",
      {whole(), View(queries_.memory(), DType::float32, lists_, dim_),
       View(links_.memory(), DType::int32, rows_, degree_), View(entries_.memory(), DType::int32, 1, entry_count_),
       View(found_.memory(), DType::int32, lists_, width_), View(distances_.memory(), DType::float32, lists_, width_),
       View(scored_.memory(), DType::int32, lists_, 1)},
      {static_cast<std::int64_t>(how.nearest), double{how.slack}});
  stream_.synchronize();
}

void DeviceRows::fetch_found(RowLists& found) {
  found.resize(lists_, width_);
  fetch_all(stream_, found.rows, found_);
  fetch_all(stream_, found.distances, distances_);
  stream_.synchronize();
}

void DeviceRows::put_found(const RowLists& found) {
  lists_ = found.lists();
  width_ = found.columns;
  need(found_, lists_ * width_);
  need(distances_, lists_ * width_);
  stream_.copy_to_device(found_.memory(), 0, std::as_bytes(std::span(found.rows)));
  stream_.copy_to_device(distances_.memory(), 0, std::as_bytes(std::span(found.distances)));
  stream_.synchronize();
}

std::uint64_t DeviceRows::fetch_scored() {
  std::vector<std::int32_t> scored(lists_);
  fetch_all(stream_, scored, scored_);
  stream_.synchronize();
  return std::accumulate(scored.begin(), scored.end(), std::uint64_t{0},
                         [](std::uint64_t sum, std::int32_t one) { return sum + static_cast<std::uint32_t>(one); });
}

void DeviceRows::prune_found(std::size_t count, float reach, RowLists& chosen) {
  chosen.resize(lists_, count);
  need(chosen_, lists_ * count);
  need(chosen_distances_, lists_ * count);
  run(stream_, "graph_prune",
      {whole(), View(found_.memory(), DType::int32, lists_, width_),
       View(distances_.memory(), DType::float32, lists_, width_), View(chosen_.memory(), DType::int32, lists_, count),
       View(chosen_distances_.memory(), DType::float32, lists_, count)},
      {double{reach}});
  fetch_all(stream_, chosen.rows, chosen_);
  fetch_all(stream_, chosen.distances, chosen_distances_);
  stream_.synchronize();
}

}  // namespace vectis::inline v0_1::graph
