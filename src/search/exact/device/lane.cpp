#include "search/exact/device/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/call.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t growth_max = 16;  // of the rows that are scanned before limits are lowered again
constexpr std::size_t limit_term = 3;   // of a query's terms
constexpr std::size_t give_grain = 16;  // queries
constexpr std::size_t slot_words = 3;   // of a candidate: row, lower and upper bound

// How many times the rows before it a piece has: then it is expected to find a quarter of the room for candidates.
std::size_t piece_growth(std::size_t capacity, std::size_t k) {
  return std::clamp<std::size_t>(capacity / 4 / k, 1, growth_max);
}

SearchTask part_of(SearchTask task, std::size_t first, std::size_t count) {
  task.queries = task.queries.subspan(first * task.dim, count * task.dim);
  return task;
}

[[noreturn]] void throw_wrong(const std::string& found) {
  throw Error(
      ErrorCode::driver_failure, "search",
      fmt::format("the device found {}: its results are wrong; update its driver or use another device", found));
}

}  // namespace

QueryBatch::QueryBatch(const SearchTask& of, std::size_t first, std::size_t count)
    : first_query(first), task(part_of(of, first, count)), limits(count, initial_limit(of)), candidates(task, limits) {}

DeviceLane::DeviceLane(Runtime& runtime, int device, LaneResources& resources, const SearchTask& task,
                       std::size_t queries, std::size_t capacity, std::size_t columns)
    : runtime_(runtime),
      pool_(memory_pool(runtime)),
      device_(device),
      task_(task),
      capacity_(capacity),
      columns_(std::min(columns, capacity)),
      resources_(resources),
      stream_(resources.stream) {
  counts_ = buffer(queries, Precision::fp32);
  for (Found& found : found_) {
    found.candidates = buffer(queries * capacity, Precision::fp32);
    found.bounds = buffer(2 * queries * capacity, Precision::fp32);
  }
}

DeviceLane::~DeviceLane() {
  if (!waited_) detail::drain(*stream_.core());
}

void DeviceLane::synchronize() {
  stream_.synchronize();
  waited_ = true;
}

ManagedBuffer DeviceLane::buffer(std::size_t elements, Precision precision) {
  const Context context = Context{}.with_memory_tag("search.batch");
  return pool_.get_managed_buffer(device_, elements, precision, {.stream = &stream_, .context = context});
}

// Grows the memory when needed, which must not be in use by copies then.
std::span<std::byte> DeviceLane::host_bytes(std::optional<HostMemory>& memory, std::size_t bytes) {
  if (!memory || memory->bytes().size() < bytes) {
    memory.reset();
    memory.emplace(stream_.context(), bytes);
    std::ranges::fill(memory->bytes(), std::byte{0});
  }
  return memory->bytes().first(bytes);
}

void DeviceLane::start(std::shared_ptr<QueryBatch> batch, ResidentRows rows) {
  layout_ = rows.block->layout;
  row_memory_ = {&rows.block->codes.memory(), &rows.block->terms.memory()};
  rows_ = std::move(rows);
  begin(std::move(batch));
}

void DeviceLane::start(std::shared_ptr<QueryBatch> batch, std::size_t segment) {
  const SegmentView& view = task_.segments[segment];
  waited_ = false;
  upload_.reset();
  layout_ = std::make_shared<const DeviceLayout>(view);
  const std::size_t bytes = view.rows * layout_->row_bytes();
  if (row_codes_.bytes() < bytes) {
    row_codes_.release();
    row_codes_ = buffer(bytes, Precision::int8);
  }
  if (row_terms_.elements() < view.rows * device_terms) {
    row_terms_.release();
    row_terms_ = buffer(view.rows * device_terms, Precision::fp32);
  }
  row_memory_ = {&row_codes_.memory(), &row_terms_.memory()};
  rows_ = {nullptr, {{segment, 0, 0, view.rows}}, nullptr};
  upload_.emplace(stream_, runtime_.executor(), *layout_);
  upload_->send(view, 0, view.rows, row_memory_, 0);
  if (RowMask::needed(rows_.runs, task_.segments)) {
    rows_.mask = std::make_shared<const RowMask>(rows_.runs, task_.segments, pool_, device_, stream_);
  }
  begin(std::move(batch));
}

void DeviceLane::begin(std::shared_ptr<QueryBatch> batch) {
  batch_ = std::move(batch);
  prepared_ = prepare_queries(layout_->quantizer(), layout_->form(), batch_->task.queries, &runtime_.executor());
  for (std::size_t i = 0; i < prepared_.count; ++i) prepared_.set_limit(i, batch_->limits.get(i));
  send_queries(prepared_);
  scan();
  fetch(prepared_.count, columns_);
}

// Pieces grow, so that limits fall early.
void DeviceLane::scan() {
  const bool limited =
      std::all_of(prepared_.limit.begin(), prepared_.limit.begin() + static_cast<std::ptrdiff_t>(prepared_.count),
                  [](float limit) { return std::isfinite(limit); });
  const std::size_t growth = piece_growth(capacity_, task_.k);
  std::size_t piece = limited ? capacity_ * growth : capacity_;
  std::size_t scanned = 0;
  for (const PlaceRange& range : ranges_of(rows_.runs)) {
    for (std::size_t first = range.first; first < range.last;) {
      const std::size_t rows = std::min(piece, range.last - first);
      scan_piece(first, rows, prepared_);
      tighten(prepared_.count);
      first += rows;
      scanned += rows;
      piece = std::max(piece, scanned * growth);
    }
  }
}

// Copies the queries with their present limits, and clears the counts.
void DeviceLane::send_queries(const PreparedQueries& queries) {
  waited_ = false;
  const std::size_t terms = queries.count * device_term_bytes;
  const std::size_t codes = queries.count * queries.row_bytes;
  const std::span<std::byte> host = host_bytes(resources_.sent, terms + codes);
  layout_->write_query_terms(queries, reinterpret_cast<float*>(host.data()));
  std::memcpy(host.data() + terms, queries.codes.data(), codes);
  if (queries_.bytes() < host.size()) {
    queries_.release();
    queries_ = buffer(host.size(), Precision::int8);
  }
  stream_.copy_to_device(queries_.memory(), 0, host);
  stream_.fill(counts_.memory(), 0, queries.count * sizeof(std::int32_t), 0);
}

void DeviceLane::scan_piece(std::size_t first, std::size_t rows, const PreparedQueries& prepared) {
  const std::size_t dim = layout_->quantizer().dim;
  const std::size_t queries = prepared.count;
  const std::size_t element = size_of(layout_->query_type());
  const Found& to = found_[now_];
  const RowMask* const mask = rows_.mask.get();
  run(stream_, "scan_bounds",
      {View(*row_memory_.codes, layout_->row_type(), rows, dim, first * layout_->row_stride(), layout_->row_stride()),
       View(queries_.memory(), layout_->query_type(), queries, dim, queries * device_term_bytes / element,
            prepared.row_bytes / element),
       View(*row_memory_.terms, DType::float32, rows, device_terms, first * device_terms, device_terms),
       View(queries_.memory(), DType::float32, queries, device_terms),
       View(to.candidates.memory(), DType::int32, queries, capacity_),
       View(to.bounds.memory(), DType::float32, queries, 2 * capacity_),
       View(counts_.memory(), DType::int32, queries, 1),
       mask == nullptr ? View(*row_memory_.terms, DType::int32, 1, 1)
                       : View(mask->words(), DType::int32, 1, mask->word_count())},
      {static_cast<std::int64_t>(first), layout_->offset_error(), DeviceLayout::absolute_error,
       std::int64_t{mask != nullptr}});
}

void DeviceLane::tighten(std::size_t queries) {
  const Found& from = found_[now_];
  const Found& to = found_[1 - now_];
  run(stream_, "tighten_bounds",
      {View(from.candidates.memory(), DType::int32, queries, capacity_),
       View(from.bounds.memory(), DType::float32, queries, 2 * capacity_),
       View(counts_.memory(), DType::int32, queries, 1),
       View(queries_.memory(), DType::float32, queries, 1, limit_term, device_terms),
       View(to.candidates.memory(), DType::int32, queries, capacity_),
       View(to.bounds.memory(), DType::float32, queries, 2 * capacity_)},
      {static_cast<std::int64_t>(std::min<std::size_t>(task_.k, INT32_MAX))});
  now_ = 1 - now_;
}

void DeviceLane::fetch(std::size_t queries, std::size_t columns) {
  waited_ = false;
  const std::size_t slots = queries * columns;
  if (packed_.elements() < slot_words * slots) {
    packed_.release();
    packed_ = buffer(slot_words * slots, Precision::fp32);
  }
  const Found& from = found_[now_];
  const DeviceMemory& to = packed_.memory();
  run(stream_, "copy",
      {View(from.candidates.memory(), DType::int32, queries, columns, 0, capacity_),
       View(to, DType::int32, queries, columns)});
  run(stream_, "copy",
      {View(from.bounds.memory(), DType::float32, queries, 2 * columns, 0, 2 * capacity_),
       View(to, DType::float32, queries, 2 * columns, slots, 2 * columns)});
  const std::span<std::byte> host =
      host_bytes(resources_.received, (queries + slot_words * slots) * sizeof(std::int32_t));
  const std::size_t counts = queries * sizeof(std::int32_t);
  stream_.copy_to_host(host.first(counts), counts_.memory(), 0);
  stream_.copy_to_host(host.subspan(counts), to, 0);
  fetched_ = columns;
}

std::span<const std::int32_t> DeviceLane::counts() const noexcept {
  const PreparedQueries& scanned = again_.count > 0 ? again_ : prepared_;
  return {reinterpret_cast<const std::int32_t*>(resources_.received->bytes().data()), scanned.count};
}

// Of queries whose candidates all fit.
std::size_t DeviceLane::largest_count() const noexcept {
  std::size_t most = 0;
  for (const std::int32_t count : counts()) {
    const auto found = static_cast<std::size_t>(static_cast<std::uint32_t>(count));
    if (found <= capacity_) most = std::max(most, found);
  }
  return most;
}

void DeviceLane::give(std::size_t position, std::size_t query) {
  const std::size_t queries = counts().size();
  const auto count = static_cast<std::size_t>(counts()[position]);
  if (count > fetched_) throw_wrong(fmt::format("{} rows, and before at most {}", count, fetched_));
  const auto* const rows = counts().data() + queries;
  const auto* const bounds = reinterpret_cast<const float*>(rows + queries * fetched_);
  for (std::size_t slot = position * fetched_; slot < position * fetched_ + count; ++slot) {
    const auto place = static_cast<std::size_t>(rows[slot]);
    const auto after = std::ranges::upper_bound(rows_.runs, place, {}, &RowRun::place);
    if (after == rows_.runs.begin() || place >= (after - 1)->place + (after - 1)->rows) {
      throw_wrong(fmt::format("row {}, which was not scanned", place));
    }
    const auto run = after - 1;
    const float lower = bounds[2 * slot];
    const float width = (bounds[2 * slot + 1] - lower) * (1 + 0x1p-20F);
    batch_->candidates.push(query, RowPlace{run->segment, run->first_row + place - run->place}, lower, width);
  }
}

std::vector<std::size_t> DeviceLane::give_all() {
  batch_->candidates.begin(rows_.runs.front().segment, prepared_);
  runtime_.executor().parallel_for(prepared_.count, give_grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t query = begin; query < end; ++query) {
      if (static_cast<std::uint32_t>(counts()[query]) <= capacity_) give(query, query);
    }
  });
  std::vector<std::size_t> overflown;
  for (std::size_t query = 0; query < prepared_.count; ++query) {
    if (static_cast<std::uint32_t>(counts()[query]) > capacity_) overflown.push_back(query);
  }
  return overflown;
}

std::size_t DeviceLane::finish() {
  synchronize();
  if (largest_count() > fetched_) {
    fetch(prepared_.count, largest_count());
    synchronize();
  }
  const std::vector<std::size_t> overflown = give_all();
  if (!overflown.empty()) scan_again(overflown);
  --batch_->scans_left;
  batch_.reset();
  rows_ = {};
  return overflown.size();
}

// Ranges of as many rows as there are slots cannot overflow; the candidates of each are copied before the next.
void DeviceLane::scan_again(const std::vector<std::size_t>& queries) {
  std::vector<float> chosen;
  for (const std::size_t query : queries) {
    chosen.insert(chosen.end(), batch_->task.query(query), batch_->task.query(query) + task_.dim);
  }
  again_ = prepare_queries(layout_->quantizer(), layout_->form(), chosen);
  for (const PlaceRange& range : ranges_of(rows_.runs)) {
    for (std::size_t first = range.first; first < range.last; first += capacity_) {
      for (std::size_t i = 0; i < queries.size(); ++i) again_.set_limit(i, batch_->limits.get(queries[i]));
      send_queries(again_);
      scan_piece(first, std::min(capacity_, range.last - first), again_);
      fetch(again_.count, columns_);
      synchronize();
      if (largest_count() > fetched_) {
        fetch(again_.count, largest_count());
        synchronize();
      }
      for (std::size_t i = 0; i < queries.size(); ++i) give(i, queries[i]);
    }
  }
  again_ = {};
}

}  // namespace vectis::inline v0_1::exact
