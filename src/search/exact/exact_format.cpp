#include "search/exact/exact_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/checksummed_stream.hpp"
#include "search/common/checks.hpp"
#include "search/exact/exact_index.hpp"
#include "search/exact/packed_segment.hpp"
#include "search/exact/quantizer.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::uint32_t version = 1;
constexpr std::uint64_t feature_codes = 1;                               // the file has blocks of codes
constexpr std::array<std::string_view, 3> kinds{"flat", "gpu", "auto"};  // numbered from 1 on

struct Header {
  std::string_view kind;
  Metric metric = Metric::l2;
  Precision precision = Precision::fp32;
  std::size_t dim = 0;
  bool has_codes = false;
  std::uint64_t vectors = 0;
  std::optional<std::uint64_t> highest_id = std::nullopt;
};

void write_header(ByteWriter& writer, const Header& header) {
  writer.write(std::as_bytes(std::span(exact_magic)));
  writer.put(version);
  detail::ChecksumWriter out(writer);
  out.put(header.has_codes ? feature_codes : std::uint64_t{0});
  out.put(std::uint64_t{0});  // features that a writer must support: none yet
  out.put(static_cast<std::uint8_t>(std::ranges::find(kinds, header.kind) - kinds.begin() + 1));
  out.put(static_cast<std::uint8_t>(header.metric));
  out.put(static_cast<std::uint8_t>(header.precision));
  out.put(header.highest_id.has_value());
  out.put(static_cast<std::uint32_t>(header.dim));
  out.put(header.highest_id.value_or(0));
  out.put(header.vectors);
  out.close();
}

Header read_header(ByteReader& reader) {
  detail::validate_version(reader.get<std::uint32_t>(), version);
  detail::ChecksumReader in(reader);
  const auto reader_features = in.get<std::uint64_t>();
  const auto writer_features = in.get<std::uint64_t>();
  const auto kind = in.get<std::uint8_t>();
  const auto metric = in.get<std::uint8_t>();
  const auto precision = in.get<std::uint8_t>();
  const auto used = in.get<std::uint8_t>();
  Header header;
  header.dim = in.get<std::uint32_t>();
  header.highest_id = in.get<std::uint64_t>();
  header.vectors = in.get<std::uint64_t>();
  in.close("header");
  detail::validate_features("reader", reader_features, feature_codes);
  detail::validate_features("writer", writer_features, 0);
  header.has_codes = (reader_features & feature_codes) != 0;
  header.metric = static_cast<Metric>(metric);
  header.precision = static_cast<Precision>(precision);

  if (kind < 1 || kind > kinds.size()) detail::throw_corrupt(fmt::format("{} is no kind", kind));
  header.kind = kinds[kind - 1U];
  if (!std::ranges::count(all_metrics(), header.metric)) detail::throw_corrupt(fmt::format("{} is no metric", metric));
  if (precision < 1 || precision > 4 || !can_scan(header.metric, header.precision)) {
    detail::throw_corrupt(fmt::format("{} is no precision for metric {}", precision, name(header.metric)));
  }
  if (header.dim < 1 || header.dim > detail::dim_max)
    detail::throw_corrupt(fmt::format("a dimension of {}", header.dim));
  if (used > 1 || (used == 0 && (header.vectors != 0 || header.highest_id != 0))) {
    detail::throw_corrupt("vectors without a largest id");
  }
  if (used == 0) header.highest_id.reset();
  return header;
}

constexpr std::uint32_t block_rows = 1;
constexpr std::uint32_t block_codes = 2;
constexpr int exponent_limit = 126;         // 2 to this power and its inverse are normal floats
constexpr std::uint8_t lowest_code = 0x80;  // -128 is never written: codes are symmetric

void begin_block(detail::ChecksumWriter& out, std::uint32_t kind, std::size_t rows) {
  out.put(kind);
  out.put(static_cast<std::uint64_t>(rows));
}

// Calls `copy` for each chunk of a row's code with the chunk's number, its offset in the code and its bytes.
template <class Copy>
void for_each_piece(std::size_t code_size, Copy copy) {
  for (std::size_t done = 0; done < code_size; done += chunk_bytes) {
    copy(done / chunk_bytes, done, std::min(chunk_bytes, code_size - done));
  }
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float number) { return std::isfinite(number); });
}

// Consecutive rows of a view.
struct RowRun {
  const SegmentView* view;
  std::size_t first;
  std::size_t rows;
};

// The live rows that have fp32 vectors, in blocks that are full except for the last.
std::vector<std::vector<RowRun>> blocks_of_rows(std::span<const SegmentView> views, std::size_t rows_max) {
  std::vector<std::vector<RowRun>> blocks;
  std::size_t filled = rows_max;
  for (const SegmentView& view : views) {
    if (view.originals == nullptr) continue;
    for (std::size_t row = 0; row < view.rows; ++row) {
      if (view.is_removed(row)) continue;
      if (filled == rows_max) {
        blocks.emplace_back();
        filled = 0;
      }
      std::vector<RowRun>& block = blocks.back();
      if (!block.empty() && block.back().view == &view && block.back().first + block.back().rows == row) {
        ++block.back().rows;
      } else {
        block.push_back({&view, row, 1});
      }
      ++filled;
    }
  }
  return blocks;
}

// Reads blocks into segments, one after the other. One thread at a time.
class BlockReader {
 public:
  BlockReader(ByteReader& reader, Executor& executor, Metric metric, Precision precision, std::size_t dim);

  // Reads a block of at most `vectors_max - vectors()` rows. Throws CorruptData.
  void read(std::uint64_t vectors_max, bool codes_allowed);
  // Throws CorruptData when an id repeats or is above the largest ever used.
  void check_ids(const std::optional<std::uint64_t>& highest) const;
  [[nodiscard]] std::uint64_t vectors() const noexcept { return vectors_; }

  Snapshot snapshot;
  std::shared_ptr<Segment> tail;

 private:
  void read_rows(detail::ChecksumReader& in, std::size_t rows);
  void read_codes(detail::ChecksumReader& in, std::size_t rows);

  ByteReader& reader_;
  Executor& executor_;
  Metric metric_;
  std::size_t dim_;
  std::uint64_t vectors_ = 0;
  bool saw_rows_ = false;
  bool saw_end_ = false;
};

void write_codes(ByteWriter& writer, const SegmentView& view) {
  const std::shared_ptr<PackedSegment> kept = packed(view);
  const std::size_t rows = kept->rows();
  if (rows == 0) return;
  const Quantizer& quantizer = kept->quantizer;
  detail::ChecksumWriter out(writer);
  begin_block(out, block_codes, rows);
  out.put(static_cast<std::int32_t>(quantizer.exponent));
  out.write(std::as_bytes(std::span(quantizer.center.get(), quantizer.dim)));
  out.write(std::as_bytes(std::span(kept->ids)));
  out.write(std::as_bytes(std::span(kept->step).first(rows)));
  std::vector<std::byte> code(quantizer.dim * code_bytes(quantizer.precision));
  for (std::size_t row = 0; row < rows; ++row) {
    for_each_piece(code.size(), [&](std::size_t chunk, std::size_t at, std::size_t bytes) {
      std::memcpy(code.data() + at, kept->chunk(row, chunk), bytes);
    });
    out.write(code);
  }
  out.close();
}

// `check` is called before each block with the rows of the blocks before.
template <class Check>
void write_rows(ByteWriter& writer, std::span<const SegmentView> views, const Check& check) {
  if (views.empty()) return;
  const std::size_t dim = views.front().quantizer->dim;
  std::uint64_t written = 0;
  for (const std::vector<RowRun>& block : blocks_of_rows(views, segment_rows_max(dim))) {
    check(written);
    std::size_t rows = 0;
    for (const RowRun& run : block) rows += run.rows;
    written += rows;
    detail::ChecksumWriter out(writer);
    begin_block(out, block_rows, rows);
    for (const RowRun& run : block) out.write(std::as_bytes(std::span(run.view->ids + run.first, run.rows)));
    for (const RowRun& run : block) {
      out.write(std::as_bytes(std::span(run.view->originals + run.first * dim, run.rows * dim)));
    }
    out.close();
  }
}

BlockReader::BlockReader(ByteReader& reader, Executor& executor, Metric metric, Precision precision, std::size_t dim)
    : reader_(reader), executor_(executor), metric_(metric), dim_(dim) {
  snapshot.precision = precision;
}

void BlockReader::read(std::uint64_t vectors_max, bool codes_allowed) {
  detail::ChecksumReader in(reader_);
  const auto kind = in.get<std::uint32_t>();
  const auto count = in.get<std::uint64_t>();
  const std::size_t most = segment_rows_max(dim_);
  if (count < 1 || count > most || count > vectors_max - vectors_) {
    detail::throw_corrupt(fmt::format("a block of {} vectors, at most {} are expected", count,
                                      std::min<std::uint64_t>(most, vectors_max - vectors_)));
  }
  const auto rows = static_cast<std::size_t>(count);
  if (kind == block_rows && !saw_end_) {
    read_rows(in, rows);
  } else if (kind == block_codes && codes_allowed && !saw_rows_ && snapshot.precision != Precision::fp32) {
    read_codes(in, rows);
  } else {
    detail::throw_corrupt(fmt::format("a block of kind {} at a place where it is not allowed", kind));
  }
  vectors_ += count;
}

void BlockReader::read_rows(detail::ChecksumReader& in, std::size_t rows) {
  const auto ids = in.read_array<std::uint64_t>(rows);
  const auto vectors = in.read_array<float>(rows * dim_);
  in.close("block of rows");
  if (const std::size_t place = detail::first_not_finite(executor_, vectors); place != vectors.size()) {
    detail::throw_corrupt(fmt::format("row {} of a block is not finite", place / dim_));
  }
  tail = std::make_shared<Segment>(executor_, metric_, snapshot.precision, dim_, rows, vectors, ids);
  snapshot.views.push_back(tail->view());
  snapshot.parts.push_back(make_part(snapshot.views.back(), tail->capacity(), tail->bytes()));
  saw_rows_ = true;
  saw_end_ = rows < segment_rows_max(dim_);
}

void BlockReader::read_codes(detail::ChecksumReader& in, std::size_t rows) {
  const auto exponent = in.get<std::int32_t>();
  const auto center = in.read_array<float>(dim_);
  const auto ids = in.read_array<std::uint64_t>(rows);
  const auto step = in.read_array<float>(rows);
  const std::size_t code_size = dim_ * code_bytes(snapshot.precision);
  const auto codes = in.read_array<std::uint8_t>(rows * code_size);
  in.close("block of codes");
  const bool int8 = snapshot.precision == Precision::int8;
  if (exponent < -exponent_limit || exponent > exponent_limit || !all_finite(center) ||
      !std::ranges::all_of(step, [&](float one) { return int8 ? one >= 0 : one == 1; }) ||
      (int8 && std::ranges::count(codes, lowest_code) > 0)) {
    detail::throw_corrupt("exponent, center, steps or codes of a block are out of range");
  }

  auto made = std::make_shared<PackedSegment>(metric_, snapshot.precision, dim_, rows);
  made->quantizer.exponent = exponent;
  std::ranges::copy(center, made->quantizer.center.get());
  made->ids = ids;
  std::ranges::copy(step, made->step.begin());
  for (std::size_t row = 0; row < rows; ++row) {
    for_each_piece(code_size, [&](std::size_t chunk, std::size_t at, std::size_t bytes) {
      std::memcpy(made->chunk(row, chunk), codes.data() + row * code_size + at, bytes);
    });
  }
  if (!recompute_bounds(executor_, made)) detail::throw_corrupt("the value of a code is too large");

  const SegmentView view = PackedSegment::view(made);
  snapshot.views.push_back(view);
  snapshot.parts.push_back(make_part(view, rows, made->bytes()));
}

void BlockReader::check_ids(const std::optional<std::uint64_t>& highest) const {
  std::vector<std::uint64_t> ids;
  for (const SegmentView& view : snapshot.views) ids.insert(ids.end(), view.ids, view.ids + view.rows);
  if (ids.empty()) return;
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
  if (const auto duplicate = std::ranges::adjacent_find(ids); duplicate != ids.end()) {
    detail::throw_corrupt(fmt::format("id {} occurs twice", *duplicate));
  }
  if (ids.back() > highest.value_or(0))
    detail::throw_corrupt(fmt::format("id {} is above the largest, {}", ids.back(), *highest));
}

}  // namespace

void save_exact(ByteWriter& writer, std::string_view kind, Metric metric, std::size_t dim, const Snapshot& snapshot,
                const Executor& executor, const Context& context) {
  Header header;
  header.kind = kind;
  header.metric = metric;
  header.precision = snapshot.precision;
  header.dim = dim;
  header.vectors = snapshot.vectors();
  header.highest_id = snapshot.highest_id;
  header.has_codes =
      std::ranges::any_of(snapshot.views, [](const SegmentView& view) { return view.originals == nullptr; });
  write_header(writer, header);
  std::uint64_t coded = 0;
  const auto check = [&](std::uint64_t written) {
    context.check("save", executor);
    if (written > 0) context.report_progress("save", written, header.vectors);
  };
  for (std::size_t i = 0; i < snapshot.views.size(); ++i) {
    if (snapshot.views[i].originals != nullptr) continue;
    check(coded);
    write_codes(writer, snapshot.views[i]);
    coded += snapshot.parts[i].live;
  }
  write_rows(writer, snapshot.views, [&](std::uint64_t written) { check(coded + written); });
  context.report_progress("save", header.vectors, header.vectors);
}

LoadedExact load_exact(ByteReader& reader, Executor& executor, const Context& context) {
  const Header header = read_header(reader);
  BlockReader blocks(reader, executor, header.metric, header.precision, header.dim);
  while (blocks.vectors() < header.vectors) {
    context.check(detail::load_index_op, executor);
    blocks.read(header.vectors, header.has_codes);
    context.report_progress(detail::load_index_op, blocks.vectors(), header.vectors);
  }
  blocks.check_ids(header.highest_id);
  blocks.snapshot.highest_id = header.highest_id;
  return {header.kind, std::make_unique<SegmentStore>(executor, header.metric, header.dim, std::move(blocks.snapshot),
                                                      std::move(blocks.tail))};
}

}  // namespace vectis::inline v0_1::exact
