#include "search/exact/segment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "search/exact/code_storage.hpp"
#include "search/exact/quantizer.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t segment_bytes = std::size_t{64} << 20U;
constexpr std::size_t append_grain = 64;  // groups

// Terms of fp32 rows that the bound of inner product and cosine needs.
void set_plain_terms(Metric metric, const float* vector, std::size_t dim, std::size_t row, const CodeTarget& target) {
  constexpr double plain_max = 0x1p100;
  const double norm = l2_norm(vector, dim);
  const bool usable = norm == 0 || (norm <= plain_max && norm >= 1 / plain_max);
  const bool cosine = metric == Metric::cosine;
  target.step[row] = !cosine ? 1.0F : (usable && norm > 0 ? static_cast<float>(1 / norm) : 0.0F);
  const double scanned = cosine ? 1.0 : norm;  // norm of the row times its step
  target.norm[row] = !usable ? std::numeric_limits<float>::infinity() : static_cast<float>(scanned * (1 + 0x1p-20));
}

// fp32 scans of sums of differences need no terms.
bool scans_need_terms(const Quantizer& quantizer) noexcept {
  return quantizer.precision != Precision::fp32 || quantizer.metric == Metric::cosine ||
         quantizer.metric == Metric::inner_product;
}

}  // namespace

struct Segment::Storage {
  Storage(Metric metric, Precision precision, std::size_t dim, std::size_t rows_max, std::span<const float> vectors)
      : quantizer(train_quantizer(metric, precision, dim, vectors)),
        capacity(rows_max),
        originals(rows_max * dim * sizeof(float)),
        ids(rows_max * sizeof(std::uint64_t)),
        block(quantizer, scans_need_terms(quantizer) ? (rows_max + group_rows - 1) / group_rows : 0) {}

  [[nodiscard]] std::size_t bytes() const noexcept {
    return originals.bytes() + ids.bytes() + block.bytes() + quantizer.dim * sizeof(float);
  }

  Quantizer quantizer;
  std::size_t capacity;
  std::size_t rows = 0;
  Pages originals;
  Pages ids;
  CodeStorage block;  // a view has its own copy of an incomplete last group, since this one still grows

  void append(Executor& executor, std::span<const float> vectors, std::span<const std::uint64_t> new_ids);
  void append_plain(std::span<const float> vectors);
  [[nodiscard]] std::array<CodeBlock, 2> runs(std::shared_ptr<CodeStorage>& last) const;
};

void Segment::Storage::append(Executor& executor, std::span<const float> vectors,
                              std::span<const std::uint64_t> new_ids) {
  const std::size_t first_row = rows;
  std::copy(new_ids.begin(), new_ids.end(), ids.as<std::uint64_t>() + rows);
  if (quantizer.precision == Precision::fp32) {
    std::copy(vectors.begin(), vectors.end(), originals.as<float>() + rows * quantizer.dim);
    append_plain(vectors);
    rows += new_ids.size();
    return;
  }
  // Each range copies and encodes its rows while they are in the cache.
  const std::size_t end_row = rows + new_ids.size();
  const std::size_t first_group = first_row / group_rows;
  const std::size_t groups = (end_row + group_rows - 1) / group_rows - first_group;
  float* const kept = originals.as<float>();
  executor.parallel_for(groups, append_grain, [&](std::size_t begin, std::size_t end) {
    GroupEncoder encoder(quantizer);
    std::array<const float*, group_rows> encoded;
    for (std::size_t group = first_group + begin; group < first_group + end; ++group) {
      const std::size_t group_first = group * group_rows;
      const std::size_t group_end = std::min(group_first + group_rows, end_row);
      const std::size_t from = std::max(group_first, first_row);
      std::copy_n(vectors.data() + (from - first_row) * quantizer.dim, (group_end - from) * quantizer.dim,
                  kept + from * quantizer.dim);
      for (std::size_t row = group_first; row < group_end; ++row) {
        encoded[row - group_first] = kept + row * quantizer.dim;
      }
      encoder.encode(std::span(encoded).first(group_end - group_first), block.group(group));
    }
  });
  rows = end_row;
}

void Segment::Storage::append_plain(std::span<const float> vectors) {
  if (!scans_need_terms(quantizer)) return;
  for (std::size_t i = 0; i < vectors.size() / quantizer.dim; ++i) {
    set_plain_terms(quantizer.metric, vectors.data() + i * quantizer.dim, quantizer.dim, rows + i, block.group(0));
  }
}

Segment::Segment(Executor& executor, Metric metric, Precision precision, std::size_t dim, std::size_t capacity,
                 std::span<const float> vectors, std::span<const std::uint64_t> ids)
    : storage_(std::make_shared<Storage>(metric, precision, dim, capacity, vectors)) {
  storage_->append(executor, vectors, ids);
}

Segment::~Segment() = default;
Segment::Segment(Segment&&) noexcept = default;
Segment& Segment::operator=(Segment&&) noexcept = default;

void Segment::append(Executor& executor, std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  storage_->append(executor, vectors, ids);
}

// Readers never touch the group that still grows: each view has its own copy of it, in `last`.
std::array<CodeBlock, 2> Segment::Storage::runs(std::shared_ptr<CodeStorage>& last) const {
  if (!scans_need_terms(quantizer)) return {};
  if (quantizer.precision == Precision::fp32) return {block.block(0, rows), CodeBlock{}};
  const std::size_t whole = rows / group_rows * group_rows;
  if (whole == rows) return {block.block(0, whole), CodeBlock{}};
  last = std::make_shared<CodeStorage>(quantizer, 1);
  const CodeTarget from = block.group(whole / group_rows);
  const CodeTarget to = last->group(0);
  std::memcpy(to.codes, from.codes, group_rows * quantizer.chunks * chunk_bytes);
  for (const auto term : {&CodeTarget::step, &CodeTarget::offset, &CodeTarget::residual, &CodeTarget::norm}) {
    std::copy_n(from.*term, group_rows, to.*term);
  }
  *to.group_residual = *from.group_residual;
  *to.group_norm = *from.group_norm;
  return {block.block(0, whole), last->block(whole, rows - whole)};
}

SegmentView Segment::view() const {
  std::shared_ptr<CodeStorage> last;
  SegmentView view;
  view.quantizer = &storage_->quantizer;
  view.rows = storage_->rows;
  view.code_blocks = storage_->runs(last);
  view.originals = storage_->originals.as<float>();
  view.ids = storage_->ids.as<std::uint64_t>();
  view.storage = storage_;
  view.last_group = last;
  return view;
}

std::size_t Segment::rows() const noexcept { return storage_->rows; }
std::size_t Segment::capacity() const noexcept { return storage_->capacity; }
std::size_t Segment::bytes() const noexcept { return storage_->bytes(); }

void SegmentView::read_row(std::size_t row, float* target) const noexcept {
  if (originals != nullptr) {
    std::copy_n(originals + row * quantizer->dim, quantizer->dim, target);
    return;
  }
  const CodeBlock& run = row < code_blocks[0].rows ? code_blocks[0] : code_blocks[1];
  const std::size_t place = row - run.first_row;
  const std::byte* const group = run.codes + place / group_rows * group_rows * quantizer->chunks * chunk_bytes;
  decode_row(*quantizer, group, place % group_rows, run.step[place], target);
}

std::size_t segment_rows_max(std::size_t dim) noexcept {
  return std::max(segment_bytes / (dim * sizeof(float)) / group_rows, std::size_t{1}) * group_rows;
}

OwnedRows live_rows(const SegmentView& view) {
  const std::size_t dim = view.quantizer->dim;
  OwnedRows rows;
  rows.ids.reserve(view.rows);
  for (std::size_t row = 0; row < view.rows; ++row) {
    if (!view.is_removed(row)) rows.ids.push_back(view.ids[row]);
  }
  rows.vectors.resize(rows.ids.size() * dim);
  float* to = rows.vectors.data();
  for (std::size_t row = 0; row < view.rows; ++row) {
    if (view.is_removed(row)) continue;
    view.read_row(row, to);
    to += dim;
  }
  return rows;
}

Segment requantized(Executor& executor, const SegmentView& view, Precision precision, std::size_t capacity) {
  const OwnedRows rows = live_rows(view);
  return {executor,
          view.quantizer->metric,
          precision,
          view.quantizer->dim,
          std::max(capacity, rows.ids.size()),
          rows.vectors,
          rows.ids};
}

}  // namespace vectis::inline v0_1::exact
