// The bodies a corpus has one after the other: with another frame, for more rows, without holes, or without floats.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "search/exact/changes.hpp"
#include "search/graph/corpus.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t frame_rows_max = 10'000;  // that a frame is made from
constexpr std::size_t frame_growth = 4;         // so many times as many vectors deserve another frame
constexpr std::size_t copy_grain = 256;

// Rows spread over all of them.
std::vector<float> spread_rows(std::span<const float> vectors, std::size_t dim, std::size_t rows_max) {
  const std::size_t rows = vectors.size() / dim;
  if (rows <= rows_max) return {vectors.begin(), vectors.end()};
  std::vector<float> some(rows_max * dim);
  for (std::size_t i = 0; i < rows_max; ++i) {
    std::memcpy(some.data() + i * dim, vectors.data() + rows * i / rows_max * dim, dim * sizeof(float));
  }
  return some;
}

}  // namespace

void Corpus::make_room(std::span<const float> vectors, std::size_t count) {
  collect_free();
  const std::size_t rows = rows_ + count - std::min(count, free_.size());
  if (rows > slots_max) {
    throw Error(ErrorCode::invalid_input, "add",
                fmt::format("{} vectors more than the {} there are, a graph index has {} at most; use several", count,
                            rows_, slots_max));
  }
  if (!body_) {
    body_ = std::make_shared<Body>(make_frame(executor_, distance_, dim_, spread_rows(vectors, dim_, frame_rows_max)),
                                   shape_, rows, true);
    return;
  }
  const Frame& frame = body_->graph.frame;
  const bool outgrown = frame.sampled < frame_rows_max && table_.size() + count >= frame_growth * frame.sampled;
  if (!outgrown && rows <= body_->rows_max()) return;
  if (!dead_.empty()) repair();
  if (outgrown) {
    std::vector<float> sample = spread_rows(vectors, dim_, frame_rows_max / 2);
    append_spread(sample);
    adopt(dense(make_frame(executor_, distance_, dim_, sample), rows, body_->vectors.whole()));
  } else {
    adopt(dense(frame, rows, body_->vectors.whole()));
  }
}

void Corpus::append_spread(std::vector<float>& sample) const {
  std::vector<Slot> there;
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (body_->heads.visible(slot, epoch_)) there.push_back(slot);
  }
  const std::size_t count = std::min(there.size(), frame_rows_max / 2);
  sample.resize(sample.size() + count * dim_);
  float* const target = sample.data() + sample.size() - count * dim_;
  for (std::size_t i = 0; i < count; ++i) body_->read_row(there[there.size() * i / count], target + i * dim_);
}

Contents Corpus::dense(const Frame& frame, std::size_t rows_max, bool whole_vectors) const {
  Contents result;
  std::vector<Slot> kept;
  std::vector<Slot> moved(rows_, Links::no_link);
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (!body_->heads.visible(slot, epoch_)) continue;
    moved[slot] = static_cast<Slot>(kept.size());
    kept.push_back(slot);
  }
  const Graph& from = body_->graph;
  result.body = std::make_shared<Body>(frame, shape_, std::max(rows_max, kept.size()), whole_vectors);
  result.body->reserve(kept.size());
  const bool same_codes = &frame == &from.frame;
  executor_.parallel_for(kept.size(), copy_grain, [&](std::size_t begin, std::size_t end) {
    std::vector<Slot> list(from.links.degree());
    std::vector<float> numbers(dim_);
    for (std::size_t i = begin; i < end; ++i) {
      const auto slot = static_cast<Slot>(i);
      const float* const vector = body_->vectors.numbers(kept[i], numbers.data());
      if (same_codes) {
        std::memcpy(result.body->graph.codes[slot], from.codes[kept[i]], frame.row_bytes);
      } else {
        encode_row(frame, vector, result.body->graph.codes[slot]);
      }
      if (whole_vectors == body_->vectors.whole()) {
        std::ranges::copy(body_->vectors.bytes(kept[i]), result.body->vectors.bytes(slot).begin());
      } else {
        result.body->vectors.write(slot, vector);
      }
      result.body->heads.born(slot, body_->heads.id(kept[i]), 0);
      const std::size_t links = from.links.read(kept[i], list.data());
      std::size_t count = 0;
      for (std::size_t j = 0; j < links; ++j) {
        if (moved[list[j]] != Links::no_link) list[count++] = moved[list[j]];
      }
      result.body->graph.links.write(slot, std::span(list).first(count));
    }
  });
  for (const Slot entry : entries_) {
    if (moved[entry] != Links::no_link) result.entries.push_back(moved[entry]);
  }
  result.rows = kept.size();
  result.highest_id = highest_id_;
  if (calibration_) result.calibration = *calibration_;
  return result;
}

void Corpus::adopt(Contents contents) {
  const std::unique_lock lock(table_mutex_);
  body_ = std::move(contents.body);
  rows_ = contents.rows;
  highest_id_ = contents.highest_id;
  entries_ = std::move(contents.entries);
  if (!contents.calibration.points.empty()) {
    calibration_ = std::make_shared<const Calibration>(std::move(contents.calibration));
  }
  dead_.clear();
  free_.clear();
  limbo_.clear();
  table_ = IdTable();
  table_.reserve(rows_);
  for (Slot slot = 0; slot < rows_; ++slot) table_.insert(body_->heads.id(slot), slot);
}

void Corpus::compact() {
  exact::with_memory("compact", 0, [&] {
    const std::lock_guard lock(writer_);
    if (!body_) return;
    if (!dead_.empty()) repair();
    adopt(dense(body_->graph.frame, 0, false));
    publish();
  });
}

Contents Corpus::contents() {
  const std::lock_guard lock(writer_);
  if (!body_) return {};
  if (!dead_.empty()) repair();
  return dense(body_->graph.frame, 0, body_->vectors.whole());
}

}  // namespace vectis::inline v0_1::graph
