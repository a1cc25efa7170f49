// graph_search and graph_prune: beam search and RobustPrune on devices, as straightforward implementations. Searches on
// the CPU use src/search/graph instead.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

namespace {

constexpr std::size_t beam_max = 512;
constexpr std::size_t degree_max = 256;

// Sixteen independent sums, so that the compiler can vectorize without reordering additions.
float squared_distance(const float* a, const float* b, std::size_t count) {
  std::array<float, 16> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      const float difference = a[i + lane] - b[i + lane];
      sums[lane] += difference * difference;
    }
  }
  for (std::size_t lane = 0; i + lane < count; ++lane) {
    const float difference = a[i + lane] - b[i + lane];
    sums[lane] += difference * difference;
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

struct Neighbor {
  float distance = 0;
  std::uint32_t row = 0;
  bool expanded = false;
};

// Orders by distance, NaN last, then by row.
bool is_nearer(const Neighbor& a, const Neighbor& b) {
  const bool a_known = a.distance == a.distance;
  const bool b_known = b.distance == b.distance;
  if (a_known != b_known) return a_known;
  if (a_known && a.distance != b.distance) return a.distance < b.distance;
  return a.row < b.row;
}

// The beam search of one query. The nearest rows found so far are sorted in `beam_`.
class BeamSearch {
 public:
  BeamSearch(const Call& call, std::uint64_t query)
      : call_(call),
        query_(row_as<const float>(call.views[1], query)),
        width_(call.views[4].columns),
        k_(std::min<std::uint64_t>(static_cast<std::uint64_t>(call.integer(0, 1)), width_)),
        epsilon_squared_(static_cast<float>(call.real(1, 0) * call.real(1, 0))) {}

  void run() {
    expand(row_as<const std::int32_t>(call_.views[3], 0), call_.views[3].columns);
    for (Neighbor* next = next_to_expand(); next != nullptr; next = next_to_expand()) {
      next->expanded = true;
      expand(row_as<const std::int32_t>(call_.views[2], next->row), call_.views[2].columns);
    }
  }

  void store(std::uint64_t query) const {
    auto* found = row_as<std::int32_t>(call_.views[4], query);
    auto* distances = row_as<float>(call_.views[5], query);
    for (std::size_t i = 0; i < width_; ++i) {
      found[i] = i < count_ ? static_cast<std::int32_t>(beam_[i].row) : -1;
      distances[i] = i < count_ ? beam_[i].distance : std::numeric_limits<float>::infinity();
    }
    *row_as<std::int32_t>(call_.views[6], query) = static_cast<std::int32_t>(scored_);
  }

 private:
  // Scores the rows of a list that are neither in the beam nor earlier in the list, then adds them to the beam.
  void expand(const std::int32_t* list, std::size_t length) {
    const VectisView& x = call_.views[0];
    std::array<Neighbor, degree_max> scored;
    std::size_t count = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto row = static_cast<std::uint32_t>(list[i]);
      if (row >= x.rows || std::find(list, list + i, list[i]) != list + i || contains(row)) continue;
      scored[count++] = {squared_distance(row_as<const float>(x, row), query_, x.columns), row};
    }
    scored_ += count;
    for (std::size_t i = 0; i < count; ++i) insert(scored[i]);
  }

  [[nodiscard]] bool contains(std::uint32_t row) const {
    return std::any_of(beam_.begin(), beam_.begin() + static_cast<std::ptrdiff_t>(count_),
                       [row](const Neighbor& one) { return one.row == row; });
  }

  void insert(const Neighbor& one) {
    if (count_ == width_) {
      if (!is_nearer(one, beam_[count_ - 1])) return;
      --count_;
    }
    std::size_t place = count_++;
    for (; place > 0 && is_nearer(one, beam_[place - 1]); --place) beam_[place] = beam_[place - 1];
    beam_[place] = one;
  }

  // The nearest neighbor that is not expanded; null when there is none, or none within epsilon of the k-th best.
  Neighbor* next_to_expand() {
    Neighbor* const end = beam_.data() + count_;
    Neighbor* const next = std::find_if(beam_.data(), end, [](const Neighbor& one) { return !one.expanded; });
    if (next == end || epsilon_squared_ == 0 || count_ < k_) return next == end ? nullptr : next;
    const float kth = beam_[k_ - 1].distance;
    if (kth != kth) return next;
    return next->distance <= epsilon_squared_ * kth ? next : nullptr;
  }

  const Call& call_;
  const float* query_;
  std::size_t width_;
  std::uint64_t k_;
  float epsilon_squared_;
  std::array<Neighbor, beam_max> beam_;
  std::size_t count_ = 0;
  std::uint64_t scored_ = 0;
};

VectisStatus graph_search(const Call& call) {
  call.threads.parallel_for(call.views[1].rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t query = begin; query < end; ++query) {
      BeamSearch search(call, query);
      search.run();
      search.store(query);
    }
  });
  return VECTIS_OK;
}

void prune_list(const Call& call, std::uint64_t list) {
  const VectisView& x = call.views[0];
  const auto* candidates = row_as<const std::int32_t>(call.views[1], list);
  const auto* distances = row_as<const float>(call.views[2], list);
  auto* chosen = row_as<std::int32_t>(call.views[3], list);
  auto* chosen_distances = row_as<float>(call.views[4], list);
  const std::uint64_t degree = call.views[3].columns;
  const auto alpha_squared = static_cast<float>(call.real(0, 1) * call.real(0, 1));
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < call.views[1].columns && taken < degree; ++i) {
    const auto row = static_cast<std::uint32_t>(candidates[i]);
    if (row >= x.rows) continue;
    const auto is_occluded_by = [&](std::int32_t other) {
      return !(squared_distance(row_as<const float>(x, static_cast<std::uint32_t>(other)), row_as<const float>(x, row),
                                x.columns) *
                   alpha_squared >
               distances[i]);
    };
    if (std::any_of(chosen, chosen + taken, is_occluded_by)) continue;
    chosen[taken] = candidates[i];
    chosen_distances[taken] = distances[i];
    ++taken;
  }
  std::fill(chosen + taken, chosen + degree, -1);
  std::fill(chosen_distances + taken, chosen_distances + degree, std::numeric_limits<float>::infinity());
}

VectisStatus graph_prune(const Call& call) {
  call.threads.parallel_for(call.views[1].rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t list = begin; list < end; ++list) prune_list(call, list);
  });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 2> operations{{
    {"graph_search", graph_search},
    {"graph_prune", graph_prune},
}};

}  // namespace

std::span<const NamedOperation> graph_operations() { return operations; }

}  // namespace vectis::cpu
