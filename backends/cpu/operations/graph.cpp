// graph_search and graph_prune: the steps of graphs on devices, as plainly as they are defined. The CPU's own index has
// faster ways and does not come here.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

namespace {

constexpr std::size_t pool_max = 512;
constexpr std::size_t list_max = 256;

// Several sums beside each other, so that they go into vectors without a change of order being asked of the compiler.
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

struct NearRow {
  float distance = 0;
  std::uint32_t row = 0;
  bool visited = false;
};

// NaN comes after all others.
bool nearer(const NearRow& a, const NearRow& b) {
  const bool a_known = a.distance == a.distance;
  const bool b_known = b.distance == b.distance;
  if (a_known != b_known) return a_known;
  if (a_known && a.distance != b.distance) return a.distance < b.distance;
  return a.row < b.row;
}

// One query's walk. The best rows so far lie sorted in `pool`.
class GraphWalk {
 public:
  GraphWalk(const Call& call, std::uint64_t query)
      : call_(call),
        query_(row_as<const float>(call.views[1], query)),
        width_(call.views[4].columns),
        nearest_(std::min<std::uint64_t>(static_cast<std::uint64_t>(call.integer(0, 1)), width_)),
        factor_(static_cast<float>(call.real(1, 0) * call.real(1, 0))) {}

  void go() {
    visit(row_as<const std::int32_t>(call_.views[3], 0), call_.views[3].columns);
    for (NearRow* next = next_row(); next != nullptr; next = next_row()) {
      next->visited = true;
      visit(row_as<const std::int32_t>(call_.views[2], next->row), call_.views[2].columns);
    }
  }

  void store(std::uint64_t query) const {
    auto* found = row_as<std::int32_t>(call_.views[4], query);
    auto* distances = row_as<float>(call_.views[5], query);
    for (std::size_t i = 0; i < width_; ++i) {
      found[i] = i < count_ ? static_cast<std::int32_t>(pool_[i].row) : -1;
      distances[i] = i < count_ ? pool_[i].distance : std::numeric_limits<float>::infinity();
    }
    *row_as<std::int32_t>(call_.views[6], query) = static_cast<std::int32_t>(scored_);
  }

 private:
  // Rows of a list that are neither in the pool nor earlier in the list; the pool changes afterwards.
  void visit(const std::int32_t* list, std::size_t length) {
    const VectisView& x = call_.views[0];
    std::array<NearRow, list_max> met;
    std::size_t count = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto row = static_cast<std::uint32_t>(list[i]);
      if (row >= x.rows || std::find(list, list + i, list[i]) != list + i || has(row)) continue;
      met[count++] = {squared_distance(row_as<const float>(x, row), query_, x.columns), row};
    }
    scored_ += count;
    for (std::size_t i = 0; i < count; ++i) offer(met[i]);
  }

  [[nodiscard]] bool has(std::uint32_t row) const {
    return std::any_of(pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(count_),
                       [row](const NearRow& one) { return one.row == row; });
  }

  void offer(const NearRow& one) {
    if (count_ == width_) {
      if (!nearer(one, pool_[count_ - 1])) return;
      --count_;
    }
    std::size_t place = count_++;
    for (; place > 0 && nearer(one, pool_[place - 1]); --place) pool_[place] = pool_[place - 1];
    pool_[place] = one;
  }

  NearRow* next_row() {
    NearRow* const end = pool_.data() + count_;
    NearRow* const next = std::find_if(pool_.data(), end, [](const NearRow& one) { return !one.visited; });
    if (next == end || factor_ == 0 || count_ < nearest_) return next == end ? nullptr : next;
    const float known = pool_[nearest_ - 1].distance;
    if (known != known) return next;
    return next->distance <= factor_ * known ? next : nullptr;
  }

  const Call& call_;
  const float* query_;
  std::size_t width_;
  std::uint64_t nearest_;
  float factor_;
  std::array<NearRow, pool_max> pool_;
  std::size_t count_ = 0;
  std::uint64_t scored_ = 0;
};

VectisStatus graph_search(const Call& call) {
  call.threads.parallel_for(call.views[1].rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t query = begin; query < end; ++query) {
      GraphWalk walk(call, query);
      walk.go();
      walk.store(query);
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
  const std::uint64_t most = call.views[3].columns;
  const auto factor = static_cast<float>(call.real(0, 1) * call.real(0, 1));
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < call.views[1].columns && taken < most; ++i) {
    const auto row = static_cast<std::uint32_t>(candidates[i]);
    if (row >= x.rows) continue;
    const auto is_way = [&](std::int32_t other) {
      return !(squared_distance(row_as<const float>(x, static_cast<std::uint32_t>(other)), row_as<const float>(x, row),
                                x.columns) *
                   factor >
               distances[i]);
    };
    if (std::any_of(chosen, chosen + taken, is_way)) continue;
    chosen[taken] = candidates[i];
    chosen_distances[taken] = distances[i];
    ++taken;
  }
  std::fill(chosen + taken, chosen + most, -1);
  std::fill(chosen_distances + taken, chosen_distances + most, std::numeric_limits<float>::infinity());
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
