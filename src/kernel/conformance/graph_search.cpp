#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Indices of the operands.
enum : std::size_t {
  search_x,
  search_q,
  search_links,
  search_entry_points,
  search_found,
  search_distances,
  search_scored
};

struct Neighbor {
  double distance = 0;
  std::uint32_t row = 0;
  bool operator<(const Neighbor& other) const {  // NaN comes last
    const bool unknown = std::isnan(distance);
    if (unknown != std::isnan(other.distance)) return !unknown;
    if (!unknown && distance != other.distance) return distance < other.distance;
    return row < other.row;
  }
};

double squared_distance(const Problem& problem, std::uint64_t query, std::uint64_t row) {
  const std::vector<Operand>& v = problem.operands;
  double sum = 0;
  for (std::uint64_t d = 0; d < v[search_x].columns(); ++d) {
    const double difference = v[search_x].value(row, d) - v[search_q].value(query, d);
    sum += difference * difference;
  }
  return sum;
}

// Whether distances are integers that float adds up exactly in any order, or nothing to compute with.
bool is_whole(const Problem& problem, std::uint64_t query) {
  const auto whole = [](const Operand& operand, std::uint64_t row) {
    for (std::uint64_t d = 0; d < operand.columns(); ++d) {
      const double value = operand.value(row, d);
      if (std::isfinite(value) && value != std::floor(value)) return false;
    }
    return true;
  };
  return whole(problem.operands[search_q], query) &&
         (problem.operands[search_x].rows() == 0 || whole(problem.operands[search_x], 0));
}

// The beam search by its definition: the sorted beam, and which rows of it were visited.
struct GraphReference {
  std::set<Neighbor> beam;
  std::uint64_t scored = 0;
  std::set<std::uint32_t> visited;

  GraphReference(const Problem& problem, std::uint64_t query) {
    const std::vector<Operand>& v = problem.operands;
    const auto k = problem.parameters.empty() ? 1 : problem.parameters[0].integer;
    const double epsilon = problem.parameters.size() > 1 ? problem.parameters[1].real : 0;
    const auto place = std::min<std::uint64_t>(static_cast<std::uint64_t>(k), v[search_found].columns());
    score_candidates(problem, query, v[search_entry_points], 0);
    for (;;) {
      const auto next =
          std::find_if(beam.begin(), beam.end(), [&](const Neighbor& one) { return !visited.contains(one.row); });
      if (next == beam.end()) return;
      if (epsilon > 0 && beam.size() >= place) {
        const double known = std::next(beam.begin(), static_cast<std::ptrdiff_t>(place) - 1)->distance;
        if (!std::isnan(known) && !(next->distance <= epsilon * epsilon * known)) return;
      }
      const std::uint32_t row = next->row;
      visited.insert(row);
      score_candidates(problem, query, v[search_links], row);
    }
  }

 private:
  void score_candidates(const Problem& problem, std::uint64_t query, const Operand& lists, std::uint64_t list) {
    std::set<std::uint32_t> candidates;
    for (std::uint64_t i = 0; i < lists.columns(); ++i) {
      if (lists.bits(list, i) < problem.operands[search_x].rows()) candidates.insert(lists.bits(list, i));
    }
    for (const Neighbor& one : beam) candidates.erase(one.row);
    scored += candidates.size();
    for (const std::uint32_t row : candidates) beam.insert({squared_distance(problem, query, row), row});
    while (beam.size() > problem.operands[search_found].columns()) beam.erase(std::prev(beam.end()));
  }
};

// Of fractions: rows with their distances, in order, each once. Which ones depends on how the device rounds.
Verdict judge_rounded(const Problem& before, std::span<const Operand> after, std::uint64_t query, double limit) {
  const auto wrong = [&](const std::string& what) {
    return Verdict{std::numeric_limits<double>::infinity(), fmt::format("query {}: {}", query, what)};
  };
  Verdict verdict;
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < after[search_found].columns(); ++i) {
    const std::uint32_t row = after[search_found].bits(query, i);
    const double distance = after[search_distances].value(query, i);
    if (i > 0 && distance < after[search_distances].value(query, i - 1)) return wrong(fmt::format("{} is too near", i));
    if (row == ~0U && std::isinf(distance)) continue;
    if (row >= before.operands[search_x].rows() || !seen.insert(row).second) {
      return wrong(fmt::format("place {} holds row {}, which is none or was there", i, row));
    }
    const double expected = squared_distance(before, query, row);
    const double error =
        Expectation::near(expected, expected, flushed).error(DType::float32, after[search_distances].bits(query, i));
    verdict.worst = std::max(verdict.worst, error);
    if (error > limit) return wrong(fmt::format("the distance of row {} is {}, expected {}", row, distance, expected));
  }
  if (after[search_scored].bits(query, 0) < seen.size()) return wrong("fewer were scored than found");
  return verdict;
}

Verdict judge_search(const Problem& before, std::span<const Operand> after, std::uint64_t query, double limit) {
  if (!is_whole(before, query)) return judge_rounded(before, after, query, limit);
  const auto wrong = [&](const std::string& what) {
    return Verdict{std::numeric_limits<double>::infinity(), fmt::format("query {}: {}", query, what)};
  };
  const GraphReference reference(before, query);
  auto expected = reference.beam.begin();
  for (std::uint64_t i = 0; i < after[search_found].columns(); ++i) {
    const bool none = expected == reference.beam.end();
    const std::uint32_t row = none ? ~0U : expected->row;
    const double distance = none ? INFINITY : expected->distance;
    const double found = after[search_distances].value(query, i);
    if (after[search_found].bits(query, i) != row) {
      return wrong(fmt::format("place {} holds row {}, expected {}", i,
                               static_cast<std::int32_t>(after[search_found].bits(query, i)),
                               static_cast<std::int32_t>(row)));
    }
    if (!(found == distance) && !(std::isnan(found) && std::isnan(distance))) {
      return wrong(fmt::format("the distance of row {} is {}, expected {}", row, found, distance));
    }
    if (!none) ++expected;
  }
  const std::uint32_t scored = after[search_scored].bits(query, 0);
  if (scored == reference.scored) return {};
  return wrong(fmt::format("{} distances were computed, expected {}", scored, reference.scored));
}

// Links to rows drawn, mostly nearby ones so that searches are long, some named twice and some no rows at all.
void draw_links(Operand& lists, std::uint64_t rows, Random& random) {
  for (std::uint64_t row = 0; row < lists.rows(); ++row) {
    for (std::uint64_t i = 0; i < lists.columns(); ++i) {
      std::uint64_t to = rows == 0 ? 0 : random.below(4) == 0 ? random.below(rows) : (row + random.below(40)) % rows;
      if (rows == 0 || random.below(16) == 0) to = random.below(2) == 0 ? 0xFFFF'FFFF : rows + random.below(3);
      lists.set_bits(row, i, static_cast<std::uint32_t>(to));
    }
  }
}

// Small integers, but for data that has no zeros near.
void make_whole(Operand& operand) {
  for (std::uint64_t row = 0; row < operand.rows(); ++row) {
    for (std::uint64_t d = 0; d < operand.columns(); ++d) {
      operand.set(row, d, std::round(8 * operand.value(row, d)));
    }
  }
}

void prepare_search(Problem& problem, Random& random) {
  std::vector<Operand>& v = problem.operands;
  const std::uint64_t rows = v[search_x].rows();
  const bool positive = rows > 0 && v[search_x].value(0, 0) >= 0.5 && v[search_x].value(0, 0) < 1;
  bool fractions = positive;
  for (std::uint64_t d = 0; rows > 0 && d < v[search_x].columns(); ++d) {
    fractions = fractions && v[search_x].value(0, d) >= 0.5 && v[search_x].value(0, d) < 1;
  }
  if (!fractions) {
    make_whole(v[search_x]);
    make_whole(v[search_q]);
  }
  draw_links(v[search_links], rows, random);
  for (std::uint64_t i = 0; i < v[search_entry_points].columns(); ++i) {
    v[search_entry_points].set_bits(0, i, static_cast<std::uint32_t>(random.below(rows + 1)));
  }
}

}  // namespace

// Searches are short enough for drivers that end loops (docs/webgpu.md). Dimensions: queries, rows, coordinates, links,
// entries, width.
void add_graph_search(Suite& suite) {
  Subject search;
  search.operation = "graph_search";
  search.error_of = "the distance";
  search.type_sets = {
      {"float32",
       {DType::float32, DType::float32, DType::int32, DType::int32, DType::int32, DType::float32, DType::int32},
       6e-7}};
  search.shapes = [](const Dimensions& d, auto) {
    return std::vector<Shape>{{d[1], d[2]}, {d[0], d[2]}, {d[1], d[3]}, {1, d[4]},
                              {d[0], d[5]}, {d[0], d[5]}, {d[0], 1}};
  };
  search.small = {{0, 3, 2, 2, 1, 4},        {3, 0, 2, 2, 1, 4},        {1, 1, 1, 1, 1, 1},
                  {2, 5, 3, 2, 1, 1},        {3, 7, 5, 3, 2, 4},        {5, 40, 8, 6, 3, 10},
                  {4, 100, 9, 64, 1, 64},    {3, 90, 17, 65, 2, 65},    {2, 300, 31, 12, 7, 100},
                  {3, 200, 4, 100, 200, 30}, {2, 70, 5, 256, 256, 257}, {1, 250, 3, 9, 4, 512},
                  {7, 30, 2, 4, 1, 60}};
  search.medium = {11, 311, 19, 13, 5, 37};
  search.timed = {1000, 20000, 128, 30, 16, 64};
  search.large = {{40, 3000, 33, 24, 16, 160}, {300, 500, 6, 8, 3, 20}, {5, 2000, 130, 40, 9, 200}};
  search.parameters = {{}, {10, 1.5}, {1}, {5, 1.0}, {1000, 1.25}};
  search.data = {Data::uniform, Data::ties, Data::positive, Data::special, Data::zeros};
  search.random_max = {30, 150, 200, 256, 256, 512};
  search.repair = [](Dimensions& d) {
    d[2] = std::max<std::uint64_t>(d[2], 1);
    for (const std::size_t list : {3U, 4U}) d[list] = std::clamp<std::uint64_t>(d[list], 1, 256);
    d[5] = std::clamp<std::uint64_t>(d[5], 1, 512);
  };
  search.prepare = prepare_search;
  search.free_counts = {{2, 'c'}, {3, 'c'}};
  search.outputs = {search_found, search_distances, search_scored};
  search.compare = judge_search;
  suite.subjects.push_back(std::move(search));
}

}  // namespace vectis::inline v0_1::conformance
