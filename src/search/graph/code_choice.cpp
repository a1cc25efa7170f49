#include "search/graph/code_choice.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "search/graph/codes.hpp"
#include "search/graph/norms.hpp"
#include "search/graph/products.hpp"
#include "search/graph/rows.hpp"
#include "search/graph/scores.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t asked_max = 100;  // rows of the sample that are looked for among the others
constexpr std::size_t nearest = 10;
constexpr std::size_t choice_compared = 32;  // by true distances at the end of a walk for so many
constexpr double choice_enough = 0.995;
constexpr std::size_t far_stride = 50;

// The sample with everything that all trials need.
struct Trial {
  std::span<const float> rows;  // full_dim numbers each
  std::size_t count = 0;
  std::size_t asked = 0;
  std::size_t placed_dim = 0;
  std::vector<float> placed;  // in all directions
  std::vector<std::vector<Slot>> truths;
};

void best_by_score(std::vector<Slot>& slots, std::size_t count, const std::vector<float>& scores) {
  const std::size_t kept = std::min(count, slots.size());
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(kept), slots.end(),
                    [&](Slot a, Slot b) { return scores[a] != scores[b] ? scores[a] < scores[b] : a < b; });
  slots.resize(kept);
}

std::vector<Slot> others(const Trial& trial, std::size_t one) {
  std::vector<Slot> slots(trial.count);
  std::iota(slots.begin(), slots.end(), Slot{0});
  slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(one));
  return slots;
}

void find_truths(Executor& executor, const Frame& frame, Trial& trial) {
  std::vector<float> squares(trial.count);
  for (std::size_t i = 0; i < trial.count; ++i) {
    squares[i] = static_cast<float>(squared_norm(trial.rows.data() + i * frame.full_dim, frame.full_dim));
  }
  trial.truths.resize(trial.asked);
  executor.parallel_for(trial.asked, 4, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scores(trial.count);
    for (std::size_t one = begin; one < end; ++one) {
      products(trial.rows.data() + one * frame.full_dim, 1, trial.rows.data(), trial.count, frame.full_dim,
               scores.data());
      for (std::size_t i = 0; i < trial.count; ++i) scores[i] = squares[i] - 2 * scores[i];
      trial.truths[one] = others(trial, one);
      best_by_score(trial.truths[one], nearest, scores);
    }
  });
}

// The share of the truth among the best by code.
double share_found(Executor& executor, const Frame& frame, const Trial& trial) {
  Rows codes(frame.row_bytes);
  codes.reserve(trial.count, 0);
  executor.parallel_for(trial.count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      encode_coordinates(frame, trial.placed.data() + i * trial.placed_dim, codes[static_cast<Slot>(i)]);
    }
  });
  std::atomic<std::size_t> found = 0;
  executor.parallel_for(trial.asked, 4, [&](std::size_t begin, std::size_t end) {
    CodedQuery query(frame);
    std::vector<float> scores(trial.count);
    std::vector<const std::byte*> all(trial.count);
    for (std::size_t i = 0; i < trial.count; ++i) all[i] = codes[static_cast<Slot>(i)];
    for (std::size_t one = begin; one < end; ++one) {
      query.set_coordinates(frame, trial.placed.data() + one * trial.placed_dim);
      best_score_rows()(frame, query, all.data(), all.size(), scores.data());
      std::vector<Slot> best = others(trial, one);
      best_by_score(best, choice_compared, scores);
      for (const Slot slot : trial.truths[one]) found += static_cast<std::size_t>(std::ranges::count(best, slot));
    }
  });
  std::size_t wanted = 0;
  for (const auto& truth : trial.truths) wanted += truth.size();
  return wanted == 0 ? 1 : static_cast<double>(found) / static_cast<double>(wanted);
}

// See Frame::far_error.
float far_error(const Frame& frame, const Trial& trial) {
  Rows rows(frame.row_bytes);
  rows.reserve(1, 0);
  const std::byte* const row = rows[0];
  CodedQuery query(frame);
  double sum = 0;
  double count = 0;
  for (std::size_t one = 0; one < trial.asked; ++one) {
    query.set_coordinates(frame, trial.placed.data() + one * trial.placed_dim);
    for (std::size_t i = one % far_stride; i < trial.count; i += far_stride) {
      double truth = 0;
      for (std::size_t j = 0; j < frame.full_dim; ++j) {
        const double left = double{trial.rows[one * frame.full_dim + j]};
        const double right = double{trial.rows[i * frame.full_dim + j]};
        truth += (left - right) * (left - right);
      }
      if (truth <= 0) continue;
      encode_coordinates(frame, trial.placed.data() + i * trial.placed_dim, rows[0]);
      float score = 0;
      best_score_rows()(frame, query, &row, 1, &score);
      const double part = (double{score} + double{query.square()}) / truth - 1;
      sum += part * part;
      ++count;
    }
  }
  return count > 0 ? static_cast<float>(std::min(1.0, std::sqrt(sum / count))) : 0;
}

void keep_directions(std::span<const float> directions, Frame& frame) {
  const std::size_t length = frame.directions_length();
  frame.directions.assign(frame.full_dim * length, 0);
  for (std::size_t i = 0; i < frame.full_dim; ++i) {
    for (std::size_t j = 0; j < frame.coded_dim; ++j) {
      frame.directions[i * length + j] = directions[j * frame.full_dim + i];
    }
  }
}

}  // namespace

void choose_codes(Executor& executor, std::span<const float> rows, std::span<const float> directions, Frame& frame) {
  Trial trial;
  trial.rows = rows;
  trial.count = rows.size() / frame.full_dim;
  trial.asked = std::min(asked_max, trial.count);
  trial.placed_dim = directions.size() / frame.full_dim;
  trial.placed.resize(trial.count * trial.placed_dim);
  executor.parallel_for(trial.count, 64, [&](std::size_t begin, std::size_t end) {
    products(rows.data() + begin * frame.full_dim, end - begin, directions.data(), trial.placed_dim, frame.full_dim,
             trial.placed.data() + begin * trial.placed_dim);
  });
  find_truths(executor, frame, trial);
  const std::size_t longest = frame.row_bytes;
  for (std::size_t bytes = line_bytes; bytes < longest; bytes += line_bytes) {
    const std::size_t codes = bytes - terms_bytes;
    double best = 0;
    std::size_t best_bits = 0;
    for (const std::size_t bits : {8U, 4U}) {
      set_codes(frame, std::min(codes * 8 / bits, trial.placed_dim), bits);
      if (const double share = share_found(executor, frame, trial); share > best) {
        best = share;
        best_bits = bits;
      }
    }
    if (best < choice_enough) continue;
    set_codes(frame, std::min(codes * 8 / best_bits, trial.placed_dim), best_bits);
    frame.far_error = far_error(frame, trial);
    keep_directions(directions, frame);
    return;
  }
  set_codes(frame, frame.full_dim, 8);
}

}  // namespace vectis::inline v0_1::graph
