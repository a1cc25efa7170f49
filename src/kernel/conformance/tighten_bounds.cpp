#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Places of the operands.
enum : std::size_t { tight_candidates, tight_bounds, tight_counts, tight_limits, tight_kept, tight_kept_bounds };

using Kept = std::array<std::uint32_t, 3>;  // candidate, lower and upper, as bits

Kept kept_at(std::span<const Operand> v, std::size_t candidates, std::uint64_t query, std::uint64_t slot) {
  return {v[candidates].bits(query, slot),
          v[candidates == tight_kept ? tight_kept_bounds : tight_bounds].bits(query, 2 * slot),
          v[candidates == tight_kept ? tight_kept_bounds : tight_bounds].bits(query, 2 * slot + 1)};
}

std::int64_t k_of(const Problem& problem) { return problem.parameters.empty() ? 1 : problem.parameters[0].integer; }

// The limit a query must have afterwards.
double tightened(const Problem& before, std::uint64_t query, std::uint64_t stored) {
  const double limit = before.operands[tight_limits].value(query, 0);
  const auto k = static_cast<std::uint64_t>(k_of(before));
  if (stored < k) return limit;
  std::vector<double> uppers;
  for (std::uint64_t slot = 0; slot < stored; ++slot) {
    const double upper = before.operands[tight_bounds].value(query, 2 * slot + 1);
    uppers.push_back(std::isnan(upper) ? INFINITY : upper);
  }
  std::sort(uppers.begin(), uppers.end());
  return std::min(limit, uppers[k - 1]);
}

Verdict judge_query(const Problem& before, std::span<const Operand> after, std::uint64_t query) {
  const auto wrong = [&](const std::string& what) {
    return Verdict{std::numeric_limits<double>::infinity(), fmt::format("row {}: {}", query, what)};
  };
  const std::uint64_t count = before.operands[tight_counts].bits(query, 0);
  const std::uint64_t capacity = after[tight_candidates].columns();
  const std::uint64_t room = after[tight_kept].columns();
  const std::uint64_t stored = std::min(count, capacity);
  const double limit = tightened(before, query, stored);
  const double limit_now = after[tight_limits].value(query, 0);
  if (!(limit_now == limit)) return wrong(fmt::format("the limit is {}, expected {}", limit_now, limit));
  std::vector<Kept> wanted;
  for (std::uint64_t slot = 0; slot < stored && count <= capacity; ++slot) {
    if (!(before.operands[tight_bounds].value(query, 2 * slot) > limit)) {
      wanted.push_back(kept_at(before.operands, tight_candidates, query, slot));
    }
  }
  const std::uint64_t count_wanted = count <= capacity ? wanted.size() : count;
  const std::uint64_t count_now = after[tight_counts].bits(query, 0);
  if (count_now != count_wanted) return wrong(fmt::format("the count is {}, expected {}", count_now, count_wanted));
  std::vector<Kept> found;
  for (std::uint64_t slot = 0; slot < room; ++slot) {
    const Kept now = kept_at(after, tight_kept, query, slot);
    if (slot < wanted.size()) {
      found.push_back(now);
    } else if (now != kept_at(before.operands, tight_kept, query, slot)) {
      return wrong(fmt::format("slot {} was changed, {} were to be kept", slot, wanted.size()));
    }
  }
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  if (std::includes(wanted.begin(), wanted.end(), found.begin(), found.end())) return {};
  return wrong("what was kept is not what is within the limit");
}

// Counts from nothing to more than there is room for, limits from nothing to everything.
void prepare_tight(Problem& problem, Random& random) {
  std::vector<Operand>& v = problem.operands;
  const std::uint64_t capacity = v[tight_candidates].columns();
  for (std::uint64_t query = 0; query < v[tight_counts].rows(); ++query) {
    const std::uint64_t kind = random.below(8);
    const std::uint64_t count = kind == 0  ? capacity + random.below(5)
                                : kind < 4 ? capacity
                                           : random.below(capacity + 1);
    v[tight_counts].set_bits(query, 0, static_cast<std::uint32_t>(count));
    const std::uint64_t slot = random.below(capacity);
    const double lower = v[tight_bounds].value(query, 2 * slot);
    v[tight_limits].set(query, 0, random.below(3) == 0 && !std::isnan(lower) ? lower : INFINITY);
  }
}

}  // namespace

// Dimensions: rows, capacity, columns of what is kept.
void add_tighten_bounds(Suite& suite) {
  Subject tight;
  tight.operation = "tighten_bounds";
  tight.type_sets = {
      {"float32", {DType::int32, DType::float32, DType::int32, DType::float32, DType::int32, DType::float32}, 0}};
  tight.shapes = [](const Dimensions& d, auto) {
    return std::vector<Shape>{{d[0], d[1]}, {d[0], 2 * d[1]}, {d[0], 1}, {d[0], 1}, {d[0], d[2]}, {d[0], 2 * d[2]}};
  };
  tight.small = {{0, 5, 2},   {1, 1, 1},    {1, 2, 1},     {3, 2, 2},     {5, 7, 3},    {7, 33, 33},
                 {2, 64, 10}, {3, 255, 64}, {4, 256, 100}, {3, 257, 257}, {9, 1000, 7}, {33, 12, 12}};
  tight.medium = {23, 611, 500};
  tight.timed = {1000, 4096, 512};
  tight.large = {{3, 100003, 5000}, {2000, 30, 20}, {2, 20021, 20021}};
  tight.parameters = {{10}, {1}, {100}, {}};
  tight.data = {Data::uniform, Data::ties, Data::ordered, Data::special, Data::zeros, Data::denormals, Data::bits};
  tight.random_max = {60, 5000, 1000};
  tight.repair = [](Dimensions& d) {
    d[1] = std::max<std::uint64_t>(d[1], 1);
    d[2] = std::clamp<std::uint64_t>(d[2], 1, d[1]);
  };
  tight.prepare = prepare_tight;
  tight.outputs = {tight_counts, tight_limits, tight_kept, tight_kept_bounds};
  tight.compare = [](const Problem& before, std::span<const Operand> after, std::uint64_t row, double) {
    return judge_query(before, after, row);
  };
  suite.subjects.push_back(std::move(tight));
}

}  // namespace vectis::inline v0_1::conformance
