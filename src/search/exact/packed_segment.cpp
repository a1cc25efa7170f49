#include "search/exact/packed_segment.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "search/exact/quantizer.hpp"

namespace vectis::inline v0_1::exact {

PackedSegment::PackedSegment(Metric metric, Precision precision, std::size_t dim, std::size_t rows) : rows_(rows) {
  quantizer.metric = metric;
  quantizer.precision = precision;
  quantizer.dim = dim;
  quantizer.chunks = code_chunks(precision, dim);
  quantizer.center = std::make_unique<float[]>(dim);
  ids.resize(rows);
  for (std::vector<float>* terms : {&step, &offset, &residual, &norm}) terms->resize(groups() * group_rows);
  std::fill(offset.begin() + static_cast<std::ptrdiff_t>(rows), offset.end(), std::numeric_limits<float>::infinity());
  codes_ = Pages(codes_bytes());
  group_residual_.resize(groups());
  group_norm_.resize(groups());
}

std::byte* PackedSegment::chunk(std::size_t row, std::size_t chunk) noexcept {
  const std::size_t group = row / group_rows;
  return codes_.data() + ((group * quantizer.chunks + chunk) * group_rows + row % group_rows) * chunk_bytes;
}

void PackedSegment::close() {
  const auto largest = [](const std::vector<float>& terms, std::size_t group) {
    const auto begin = terms.begin() + static_cast<std::ptrdiff_t>(group * group_rows);
    return *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(group_rows));
  };
  for (std::size_t group = 0; group < groups(); ++group) {
    group_residual_[group] = largest(residual, group);
    group_norm_[group] = largest(norm, group);
  }
}

SegmentView PackedSegment::view(std::shared_ptr<const PackedSegment> segment) {
  SegmentView result;
  result.quantizer = &segment->quantizer;
  result.rows = segment->rows_;
  result.ids = segment->ids.data();
  const std::size_t whole = segment->rows_ / group_rows * group_rows;
  const auto run = [&](std::size_t first_row, std::size_t rows) {
    if (rows == 0) return CodeBlock{};
    const std::size_t group = first_row / group_rows;
    return CodeBlock{first_row,
                     rows,
                     segment->codes_.data() + first_row * segment->quantizer.chunks * chunk_bytes,
                     segment->step.data() + first_row,
                     segment->offset.data() + first_row,
                     segment->residual.data() + first_row,
                     segment->norm.data() + first_row,
                     segment->group_residual_.data() + group,
                     segment->group_norm_.data() + group};
  };
  result.code_blocks = {run(0, whole), run(whole, segment->rows_ - whole)};
  result.storage = std::move(segment);
  return result;
}

std::size_t PackedSegment::bytes() const noexcept {
  return codes_.bytes() + ids.size() * sizeof(std::uint64_t) + 4 * step.size() * sizeof(float) +
         2 * groups() * sizeof(float) + quantizer.dim * sizeof(float);
}

std::shared_ptr<PackedSegment> packed(const SegmentView& view) {
  std::size_t rows = 0;
  for (std::size_t row = 0; row < view.rows; ++row) rows += static_cast<std::size_t>(!view.is_removed(row));
  const Quantizer& quantizer = *view.quantizer;
  auto result = std::make_shared<PackedSegment>(quantizer.metric, quantizer.precision, quantizer.dim, rows);
  std::copy_n(quantizer.center.get(), quantizer.dim, result->quantizer.center.get());
  result->quantizer.exponent = quantizer.exponent;

  std::size_t to = 0;
  for (const CodeBlock& run : view.code_blocks) {
    for (std::size_t at = 0; at < run.rows; ++at) {
      const std::size_t row = run.first_row + at;
      if (view.is_removed(row)) continue;
      const std::byte* group = run.codes + at / group_rows * quantizer.chunks * group_rows * chunk_bytes;
      for (std::size_t chunk = 0; chunk < quantizer.chunks; ++chunk) {
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

namespace {

constexpr std::size_t rows_grain = 256;

// Computes the terms of the bound for rows whose vectors are the values of their codes, in double precision.
// docs/exact-search.md says what each must cover; set_terms in quantizer.cpp does the same for fp32 vectors.
class CodeBounds {
 public:
  CodeBounds(PackedSegment& segment, const SegmentView& view)
      : segment_(segment), view_(view), decoded_(segment.quantizer.dim), code_(segment.quantizer.dim) {
    bare_.precision = segment.quantizer.precision;
    bare_.dim = segment.quantizer.dim;
    bare_.chunks = segment.quantizer.chunks;
    bare_.center = std::make_unique<float[]>(bare_.dim);
  }

  // Returns false when the row is not coded.
  bool set_terms(std::size_t row) {
    const Quantizer& quantizer = segment_.quantizer;
    if (!std::isfinite(segment_.residual[row])) return false;
    view_.read_row(row, decoded_.data());
    const std::byte* const group = segment_.chunk(row / group_rows * group_rows, 0);
    decode_row(bare_, group, row % group_rows, segment_.step[row], code_.data());  // in units of the quantizer
    double length = 1;
    if (quantizer.metric == Metric::cosine) {
      length = 0;
      for (const float number : decoded_) length += double{number} * double{number};
      length = length == 0 ? 1 : std::sqrt(length);
    }
    const double scale = std::ldexp(1.0, -quantizer.exponent);
    double squares = 0;
    double lost = 0;
    for (std::size_t i = 0; i < quantizer.dim; ++i) {
      const double placed = (double{decoded_[i]} / length - double{quantizer.center[i]}) * scale;
      const double difference = placed - double{code_[i]};
      squares += placed * placed;
      lost += difference * difference;
    }
    if (!(squares <= double{norm_coded_max} * double{norm_coded_max} && lost <= double{norm_coded_max})) return false;
    const double loose = double{loosening(quantizer.dim)};
    const double norm = std::sqrt(squares) * (1 + loose) + 0x1p-120;
    const double rounding = 0x1p-21 * (norm + (quantizer.metric == Metric::cosine ? scale : 0.0));
    segment_.offset[row] = is_euclidean(quantizer.metric) ? static_cast<float>(squares * (1 - loose)) : 0.0F;
    segment_.residual[row] = static_cast<float>(std::sqrt(lost) * (1 + loose) + rounding + 0x1p-120);
    segment_.norm[row] = static_cast<float>(norm);
    return true;
  }

 private:
  PackedSegment& segment_;
  const SegmentView& view_;
  Quantizer bare_;  // without center and scale
  std::vector<float> decoded_;
  std::vector<float> code_;
};

}  // namespace

bool recompute_bounds(Executor& executor, const std::shared_ptr<PackedSegment>& segment) {
  const SegmentView view = PackedSegment::view(segment);
  std::atomic<bool> holds = true;
  executor.parallel_for(segment->rows(), rows_grain, [&](std::size_t begin, std::size_t end) {
    CodeBounds bounds(*segment, view);
    for (std::size_t row = begin; row < end; ++row) {
      if (!bounds.set_terms(row)) holds = false;
    }
  });
  segment->close();
  return holds;
}

}  // namespace vectis::inline v0_1::exact
