#include "search/exact/packed_segment.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "search/exact/encode.hpp"

namespace vectis::inline v0_1::exact {

PackedSegment::PackedSegment(Distance distance, Precision precision, std::size_t dim, std::size_t rows) : rows_(rows) {
  frame.distance = distance;
  frame.precision = precision;
  frame.dim = dim;
  frame.chunks = code_chunks(precision, dim);
  frame.centre = std::make_unique<float[]>(dim);
  ids.resize(rows);
  for (std::vector<float>* terms : {&step, &offset, &residual, &norm}) terms->resize(groups() * group_rows);
  std::fill(offset.begin() + static_cast<std::ptrdiff_t>(rows), offset.end(), std::numeric_limits<float>::infinity());
  codes_ = Pages(codes_bytes());
}

std::byte* PackedSegment::chunk(std::size_t row, std::size_t chunk) noexcept {
  const std::size_t group = row / group_rows;
  return codes_.data() + ((group * frame.chunks + chunk) * group_rows + row % group_rows) * chunk_bytes;
}

void PackedSegment::close() {
  const auto largest = [this](const std::vector<float>& terms) {
    std::vector<float> result(groups());
    for (std::size_t group = 0; group < result.size(); ++group) {
      result[group] = *std::max_element(terms.begin() + static_cast<std::ptrdiff_t>(group * group_rows),
                                        terms.begin() + static_cast<std::ptrdiff_t>((group + 1) * group_rows));
    }
    return result;
  };
  group_residual_ = largest(residual);
  group_norm_ = largest(norm);
}

SegmentView PackedSegment::view(std::shared_ptr<const PackedSegment> segment) {
  SegmentView result;
  result.frame = &segment->frame;
  result.rows = segment->rows_;
  result.ids = segment->ids.data();
  const std::size_t whole = segment->rows_ / group_rows * group_rows;
  const auto run = [&](std::size_t first_row, std::size_t rows) {
    if (rows == 0) return CodeRun{};
    const std::size_t group = first_row / group_rows;
    return CodeRun{first_row,
                   rows,
                   segment->codes_.data() + first_row * segment->frame.chunks * chunk_bytes,
                   segment->step.data() + first_row,
                   segment->offset.data() + first_row,
                   segment->residual.data() + first_row,
                   segment->norm.data() + first_row,
                   segment->group_residual_.data() + group,
                   segment->group_norm_.data() + group};
  };
  result.runs = {run(0, whole), run(whole, segment->rows_ - whole)};
  result.storage = std::move(segment);
  return result;
}

std::size_t PackedSegment::bytes() const noexcept {
  return codes_.bytes() + ids.size() * sizeof(std::uint64_t) + 4 * step.size() * sizeof(float) +
         2 * groups() * sizeof(float) + frame.dim * sizeof(float);
}

std::shared_ptr<PackedSegment> packed(const SegmentView& view) {
  std::size_t rows = 0;
  for (std::size_t row = 0; row < view.rows; ++row) rows += static_cast<std::size_t>(!view.is_removed(row));
  const Frame& frame = *view.frame;
  auto result = std::make_shared<PackedSegment>(frame.distance, frame.precision, frame.dim, rows);
  std::copy_n(frame.centre.get(), frame.dim, result->frame.centre.get());
  result->frame.exponent = frame.exponent;

  std::size_t to = 0;
  for (const CodeRun& run : view.runs) {
    for (std::size_t at = 0; at < run.rows; ++at) {
      const std::size_t row = run.first_row + at;
      if (view.is_removed(row)) continue;
      const std::byte* group = run.codes + at / group_rows * frame.chunks * group_rows * chunk_bytes;
      for (std::size_t chunk = 0; chunk < frame.chunks; ++chunk) {
        std::memcpy(result->chunk(to, chunk), group + (chunk * group_rows + at % group_rows) * chunk_bytes,
                    chunk_bytes);
      }
      result->step[to] = run.step[at];
      result->offset[to] = run.offset[at];
      result->residual[to] = run.residual[at];
      result->norm[to] = run.norm[at];
      result->ids[to++] = view.ids[row];
    }
  }
  result->close();
  return result;
}

}  // namespace vectis::inline v0_1::exact
