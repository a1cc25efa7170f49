#include "search/exact/device/lane.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/call.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t piece_growth = 4;
constexpr std::size_t limit_term = 3;  // of a query's terms

// Terms of an excluded row: above every limit, without an upper bound.
constexpr float left_out[device_terms] = {std::numeric_limits<float>::infinity(), 0, 0, 0};

template <class T>
std::span<std::byte> writable_bytes(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace

DeviceLane::DeviceLane(MemoryPool& pool, int device, const SearchTask& task, std::size_t capacity)
    : pool_(pool), device_(device), task_(task), capacity_(capacity) {
  const std::size_t queries = task.query_count();
  counts_ = buffer(queries, Precision::fp32);
  stream_.emplace(counts_.memory().context());
  for (Found& found : found_) {
    found.candidates = buffer(queries * capacity, Precision::fp32);
    found.bounds = buffer(2 * queries * capacity, Precision::fp32);
  }
  query_terms_ = buffer(queries * device_terms, Precision::fp32);
}

DeviceLane::~DeviceLane() {
  if (stream_) detail::drain(*stream_->core());
}

ManagedBuffer DeviceLane::buffer(std::size_t elements, Precision precision) {
  const Context context = Context{}.with_memory_tag("search.batch");
  return pool_.get_managed_buffer(device_, elements, precision,
                                  {.stream = stream_ ? &*stream_ : nullptr, .context = context});
}

void DeviceLane::start(std::size_t segment, std::shared_ptr<const ResidentCodes> resident, const SharedLimits& limits) {
  const SegmentView& view = task_.segments[segment];
  segment_ = segment;
  resident_ = std::move(resident);
  row_terms_host_.clear();
  if (resident_) {
    layout_ = resident_->layout.get();
    codes_ = &resident_->codes.memory();
    terms_ = &resident_->terms.memory();
  } else {
    bring_rows(view);
  }
  leave_out_rows(view);
  prepared_ = prepare_queries(layout_->quantizer(), layout_->form(), task_.queries);
  bool limited = true;
  for (std::size_t i = 0; i < prepared_.count; ++i) {
    prepared_.set_limit(i, limits.get(i));
    limited = limited && std::isfinite(prepared_.limit[i]);
  }
  send_queries(prepared_);
  std::size_t piece = limited ? capacity_ * piece_growth : capacity_;
  for (std::size_t first = 0; first < view.rows;) {
    const std::size_t rows = std::min(piece, view.rows - first);
    scan_piece(first, rows, prepared_);
    tighten(prepared_.count);
    first += rows;
    piece *= piece_growth;
  }
  counts_host_.resize(prepared_.count);
  stream_->copy_to_host(writable_bytes(counts_host_), counts_.memory(), 0);
}

// Copies the rows into the lane's buffers, which they occupy until the lane has finished.
void DeviceLane::bring_rows(const SegmentView& segment) {
  own_layout_ = std::make_unique<const DeviceLayout>(segment);
  layout_ = own_layout_.get();
  layout_->pack_codes(segment, 0, row_codes_host_, row_terms_host_);
  if (row_codes_.bytes() < row_codes_host_.size()) {
    row_codes_.release();
    row_codes_ = buffer(row_codes_host_.size(), Precision::int8);
  }
  stream_->copy_to_device(row_codes_.memory(), 0, row_codes_host_);
  codes_ = &row_codes_.memory();
  send_terms();
}

void DeviceLane::send_terms() {
  if (row_terms_.elements() < row_terms_host_.size()) {
    row_terms_.release();
    row_terms_ = buffer(row_terms_host_.size(), Precision::fp32);
  }
  stream_->copy_to_device(row_terms_.memory(), 0, std::as_bytes(std::span(row_terms_host_)));
  terms_ = &row_terms_.memory();
}

// Removed and filtered rows must not lower a limit.
void DeviceLane::leave_out_rows(const SegmentView& segment) {
  if (segment.removed == nullptr && !task_.options->filter) return;
  stream_->synchronize();  // the terms may still be copied
  if (row_terms_host_.empty()) row_terms_host_ = resident_->terms_host;
  for (std::size_t row = 0; row < segment.rows; ++row) {
    if (!task_.allows(segment, row)) std::copy_n(left_out, device_terms, row_terms_host_.data() + row * device_terms);
  }
  send_terms();
}

// Copies the queries with their present limits, and clears the counts.
void DeviceLane::send_queries(const PreparedQueries& queries) {
  layout_->query_terms(queries, query_terms_host_);
  const std::size_t bytes = queries.count * queries.row_bytes;
  if (query_codes_.bytes() < bytes) {
    query_codes_.release();
    query_codes_ = buffer(bytes, Precision::int8);
  }
  stream_->copy_to_device(query_codes_.memory(), 0, {queries.codes.data(), bytes});
  stream_->copy_to_device(query_terms_.memory(), 0, std::as_bytes(std::span(query_terms_host_)));
  stream_->fill(counts_.memory(), 0, queries.count * sizeof(std::int32_t), 0);
}

void DeviceLane::scan_piece(std::size_t first, std::size_t rows, const PreparedQueries& prepared) {
  const std::size_t dim = layout_->quantizer().dim;
  const std::size_t queries = prepared.count;
  const std::size_t query_stride = prepared.row_bytes / size_of(layout_->query_type());
  const Found& to = found_[now_];
  run(*stream_, "scan_bounds",
      {View(*codes_, layout_->row_type(), rows, dim, first * layout_->row_stride(), layout_->row_stride()),
       View(query_codes_.memory(), layout_->query_type(), queries, dim, 0, query_stride),
       View(*terms_, DType::float32, rows, device_terms, first * device_terms, device_terms),
       View(query_terms_.memory(), DType::float32, queries, device_terms),
       View(to.candidates.memory(), DType::int32, queries, capacity_),
       View(to.bounds.memory(), DType::float32, queries, 2 * capacity_),
       View(counts_.memory(), DType::int32, queries, 1), View(counts_.memory(), DType::int32, 1, 1)},
      {static_cast<std::int64_t>(first), layout_->offset_error(), DeviceLayout::absolute_error});
}

void DeviceLane::tighten(std::size_t queries) {
  const Found& from = found_[now_];
  const Found& to = found_[1 - now_];
  run(*stream_, "tighten_bounds",
      {View(from.candidates.memory(), DType::int32, queries, capacity_),
       View(from.bounds.memory(), DType::float32, queries, 2 * capacity_),
       View(counts_.memory(), DType::int32, queries, 1),
       View(query_terms_.memory(), DType::float32, queries, 1, limit_term, device_terms),
       View(to.candidates.memory(), DType::int32, queries, capacity_),
       View(to.bounds.memory(), DType::float32, queries, 2 * capacity_)},
      {static_cast<std::int64_t>(std::min<std::size_t>(task_.k, INT32_MAX))});
  now_ = 1 - now_;
}

std::size_t DeviceLane::columns_found() const noexcept {
  std::size_t most = 0;
  for (const std::int32_t count : counts_host_) {
    const auto found = static_cast<std::size_t>(static_cast<std::uint32_t>(count));
    if (found <= capacity_) most = std::max(most, found);
  }
  return most;
}

// Packs the first slots of every query on the device, so that only those are copied.
void DeviceLane::fetch(std::size_t queries, std::size_t columns) {
  if (columns == 0) return;
  const std::size_t slots = queries * columns;
  if (packed_.elements() < 3 * slots) {
    packed_.release();
    packed_ = buffer(3 * slots, Precision::fp32);
  }
  const Found& from = found_[now_];
  const DeviceMemory& to = packed_.memory();
  run(*stream_, "copy",
      {View(from.candidates.memory(), DType::int32, queries, columns, 0, capacity_),
       View(to, DType::int32, queries, columns)});
  run(*stream_, "copy",
      {View(from.bounds.memory(), DType::float32, queries, 2 * columns, 0, 2 * capacity_),
       View(to, DType::float32, queries, 2 * columns, slots, 2 * columns)});
  candidates_host_.resize(slots);
  bounds_host_.resize(2 * slots);
  stream_->copy_to_host(writable_bytes(candidates_host_), to, 0);
  stream_->copy_to_host(writable_bytes(bounds_host_), to, slots * sizeof(std::int32_t));
  stream_->synchronize();
}

void DeviceLane::give(std::size_t place, std::size_t query, std::size_t columns, Candidates& candidates) const {
  const auto count = static_cast<std::size_t>(counts_host_[place]);
  for (std::size_t slot = place * columns; slot < place * columns + count; ++slot) {
    const float lower = bounds_host_[2 * slot];
    const float width = (bounds_host_[2 * slot + 1] - lower) * (1 + 0x1p-20F);
    candidates.push(query, static_cast<std::size_t>(candidates_host_[slot]), lower, width);
  }
}

std::size_t DeviceLane::finish(const SharedLimits& limits, Candidates& candidates) {
  stream_->synchronize();
  const std::size_t columns = columns_found();
  fetch(prepared_.count, columns);
  candidates.begin(*segment_, prepared_);
  std::vector<std::size_t> overflown;
  for (std::size_t query = 0; query < prepared_.count; ++query) {
    if (static_cast<std::uint32_t>(counts_host_[query]) > capacity_) {
      overflown.push_back(query);
    } else {
      give(query, query, columns, candidates);
    }
  }
  if (!overflown.empty()) scan_again(overflown, limits, candidates);
  segment_.reset();
  resident_.reset();
  return overflown.size();
}

// Ranges of as many rows as there are slots cannot overflow; the candidates of each are copied before the next.
void DeviceLane::scan_again(const std::vector<std::size_t>& queries, const SharedLimits& limits,
                            Candidates& candidates) {
  std::vector<float> chosen;
  for (const std::size_t query : queries) {
    chosen.insert(chosen.end(), task_.query(query), task_.query(query) + task_.dim);
  }
  again_ = prepare_queries(layout_->quantizer(), layout_->form(), chosen);
  counts_host_.resize(queries.size());
  const std::size_t rows = task_.segments[*segment_].rows;
  for (std::size_t first = 0; first < rows; first += capacity_) {
    for (std::size_t i = 0; i < queries.size(); ++i) again_.set_limit(i, limits.get(queries[i]));
    send_queries(again_);
    scan_piece(first, std::min(capacity_, rows - first), again_);
    stream_->copy_to_host(writable_bytes(counts_host_), counts_.memory(), 0);
    stream_->synchronize();
    const std::size_t columns = columns_found();
    fetch(queries.size(), columns);
    for (std::size_t i = 0; i < queries.size(); ++i) give(i, queries[i], columns, candidates);
  }
}

}  // namespace vectis::inline v0_1::exact
