#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Places of the operands.
enum : std::size_t { walk_x, walk_q, walk_links, walk_entries, walk_found, walk_distances, walk_scored };

struct MetRow {
  double distance = 0;
  std::uint32_t row = 0;
  bool operator<(const MetRow& other) const {  // NaN comes last
    const bool unknown = std::isnan(distance);
    if (unknown != std::isnan(other.distance)) return !unknown;
    if (!unknown && distance != other.distance) return distance < other.distance;
    return row < other.row;
  }
};

double squared_distance(const Problem& problem, std::uint64_t query, std::uint64_t row) {
  const std::vector<Operand>& v = problem.operands;
  double sum = 0;
  for (std::uint64_t d = 0; d < v[walk_x].columns(); ++d) {
    const double difference = v[walk_x].value(row, d) - v[walk_q].value(query, d);
    sum += difference * difference;
  }
  return sum;
}

// Whether distances are whole numbers that float adds up exactly in any order, or nothing to compute with.
bool is_whole(const Problem& problem, std::uint64_t query) {
  const auto whole = [](const Operand& operand, std::uint64_t row) {
    for (std::uint64_t d = 0; d < operand.columns(); ++d) {
      const double value = operand.value(row, d);
      if (std::isfinite(value) && value != std::floor(value)) return false;
    }
    return true;
  };
  return whole(problem.operands[walk_q], query) &&
         (problem.operands[walk_x].rows() == 0 || whole(problem.operands[walk_x], 0));
}

// The walk by its definition: a set of what is kept, and who of it was visited.
struct GraphReference {
  std::set<MetRow> kept;
  std::uint64_t scored = 0;
  std::set<std::uint32_t> visited;

  GraphReference(const Problem& problem, std::uint64_t query) {
    const std::vector<Operand>& v = problem.operands;
    const auto nearest = problem.parameters.empty() ? 1 : problem.parameters[0].integer;
    const double slack = problem.parameters.size() > 1 ? problem.parameters[1].real : 0;
    const auto place = std::min<std::uint64_t>(static_cast<std::uint64_t>(nearest), v[walk_found].columns());
    meet(problem, query, v[walk_entries], 0);
    for (;;) {
      const auto next =
          std::find_if(kept.begin(), kept.end(), [&](const MetRow& one) { return !visited.contains(one.row); });
      if (next == kept.end()) return;
      if (slack > 0 && kept.size() >= place) {
        const double known = std::next(kept.begin(), static_cast<std::ptrdiff_t>(place) - 1)->distance;
        if (!std::isnan(known) && !(next->distance <= slack * slack * known)) return;
      }
      const std::uint32_t row = next->row;
      visited.insert(row);
      meet(problem, query, v[walk_links], row);
    }
  }

 private:
  void meet(const Problem& problem, std::uint64_t query, const Operand& lists, std::uint64_t list) {
    std::set<std::uint32_t> met;
    for (std::uint64_t i = 0; i < lists.columns(); ++i) {
      if (lists.bits(list, i) < problem.operands[walk_x].rows()) met.insert(lists.bits(list, i));
    }
    for (const MetRow& one : kept) met.erase(one.row);
    scored += met.size();
    for (const std::uint32_t row : met) kept.insert({squared_distance(problem, query, row), row});
    while (kept.size() > problem.operands[walk_found].columns()) kept.erase(std::prev(kept.end()));
  }
};

// Of fractions: rows with their distances, in order, each once. Which ones depends on how the device rounds.
Verdict judge_rounded(const Problem& before, std::span<const Operand> after, std::uint64_t query, double limit) {
  const auto wrong = [&](const std::string& what) {
    return Verdict{std::numeric_limits<double>::infinity(), fmt::format("query {}: {}", query, what)};
  };
  Verdict verdict;
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < after[walk_found].columns(); ++i) {
    const std::uint32_t row = after[walk_found].bits(query, i);
    const double distance = after[walk_distances].value(query, i);
    if (i > 0 && distance < after[walk_distances].value(query, i - 1)) return wrong(fmt::format("{} is too near", i));
    if (row == ~0U && std::isinf(distance)) continue;
    if (row >= before.operands[walk_x].rows() || !seen.insert(row).second) {
      return wrong(fmt::format("place {} holds row {}, which is none or was there", i, row));
    }
    const double expected = squared_distance(before, query, row);
    const double error =
        Expectation::near(expected, expected, flushed).error(DType::float32, after[walk_distances].bits(query, i));
    verdict.worst = std::max(verdict.worst, error);
    if (error > limit) return wrong(fmt::format("the distance of row {} is {}, expected {}", row, distance, expected));
  }
  if (after[walk_scored].bits(query, 0) < seen.size()) return wrong("fewer were scored than found");
  return verdict;
}

Verdict judge_walk(const Problem& before, std::span<const Operand> after, std::uint64_t query, double limit) {
  if (!is_whole(before, query)) return judge_rounded(before, after, query, limit);
  const auto wrong = [&](const std::string& what) {
    return Verdict{std::numeric_limits<double>::infinity(), fmt::format("query {}: {}", query, what)};
  };
  const GraphReference reference(before, query);
  auto expected = reference.kept.begin();
  for (std::uint64_t i = 0; i < after[walk_found].columns(); ++i) {
    const bool none = expected == reference.kept.end();
    const std::uint32_t row = none ? ~0U : expected->row;
    const double distance = none ? INFINITY : expected->distance;
    const double found = after[walk_distances].value(query, i);
    if (after[walk_found].bits(query, i) != row) {
      return wrong(fmt::format("place {} holds row {}, expected {}", i,
                               static_cast<std::int32_t>(after[walk_found].bits(query, i)),
                               static_cast<std::int32_t>(row)));
    }
    if (!(found == distance) && !(std::isnan(found) && std::isnan(distance))) {
      return wrong(fmt::format("the distance of row {} is {}, expected {}", row, found, distance));
    }
    if (!none) ++expected;
  }
  const std::uint32_t scored = after[walk_scored].bits(query, 0);
  if (scored == reference.scored) return {};
  return wrong(fmt::format("{} distances were computed, expected {}", scored, reference.scored));
}

// Links to rows drawn, mostly nearby ones so that walks are long, some named twice and some no rows at all.
void draw_links(Operand& lists, std::uint64_t rows, Random& random) {
  for (std::uint64_t row = 0; row < lists.rows(); ++row) {
    for (std::uint64_t i = 0; i < lists.columns(); ++i) {
      std::uint64_t to = rows == 0 ? 0 : random.below(4) == 0 ? random.below(rows) : (row + random.below(40)) % rows;
      if (rows == 0 || random.below(16) == 0) to = random.below(2) == 0 ? 0xFFFF'FFFF : rows + random.below(3);
      lists.set_bits(row, i, static_cast<std::uint32_t>(to));
    }
  }
}

// Small whole numbers, but for data that has no zeros near.
void make_whole(Operand& operand) {
  for (std::uint64_t row = 0; row < operand.rows(); ++row) {
    for (std::uint64_t d = 0; d < operand.columns(); ++d) {
      operand.set(row, d, std::round(8 * operand.value(row, d)));
    }
  }
}

void prepare_walk(Problem& problem, Random& random) {
  std::vector<Operand>& v = problem.operands;
  const std::uint64_t rows = v[walk_x].rows();
  const bool positive = rows > 0 && v[walk_x].value(0, 0) >= 0.5 && v[walk_x].value(0, 0) < 1;
  bool fractions = positive;
  for (std::uint64_t d = 0; rows > 0 && d < v[walk_x].columns(); ++d) {
    fractions = fractions && v[walk_x].value(0, d) >= 0.5 && v[walk_x].value(0, d) < 1;
  }
  if (!fractions) {
    make_whole(v[walk_x]);
    make_whole(v[walk_q]);
  }
  draw_links(v[walk_links], rows, random);
  for (std::uint64_t i = 0; i < v[walk_entries].columns(); ++i) {
    v[walk_entries].set_bits(0, i, static_cast<std::uint32_t>(random.below(rows + 1)));
  }
}

}  // namespace

// Walks are short enough for drivers that end loops (docs/webgpu.md). Dimensions: queries, rows, coordinates, links,
// entries, width.
void add_graph_search(Suite& suite) {
  Subject walk;
  walk.operation = "graph_search";
  walk.error_of = "the distance";
  walk.type_sets = {
      {"float32",
       {DType::float32, DType::float32, DType::int32, DType::int32, DType::int32, DType::float32, DType::int32},
       6e-7}};
  walk.shapes = [](const Dimensions& d, auto) {
    return std::vector<Shape>{{d[1], d[2]}, {d[0], d[2]}, {d[1], d[3]}, {1, d[4]},
                              {d[0], d[5]}, {d[0], d[5]}, {d[0], 1}};
  };
  walk.small = {{0, 3, 2, 2, 1, 4},       {3, 0, 2, 2, 1, 4},        {1, 1, 1, 1, 1, 1},        {2, 5, 3, 2, 1, 1},
                {3, 7, 5, 3, 2, 4},       {5, 40, 8, 6, 3, 10},      {4, 100, 9, 64, 1, 64},    {3, 90, 17, 65, 2, 65},
                {2, 300, 31, 12, 7, 100}, {3, 200, 4, 100, 200, 30}, {2, 70, 5, 256, 256, 257}, {1, 250, 3, 9, 4, 512},
                {7, 30, 2, 4, 1, 60}};
  walk.medium = {11, 311, 19, 13, 5, 37};
  walk.timed = {1000, 20000, 128, 30, 16, 64};
  walk.large = {{40, 3000, 33, 24, 16, 160}, {300, 500, 6, 8, 3, 20}, {5, 2000, 130, 40, 9, 200}};
  walk.parameters = {{}, {10, 1.5}, {1}, {5, 1.0}, {1000, 1.25}};
  walk.data = {Data::uniform, Data::ties, Data::positive, Data::special, Data::zeros};
  walk.random_most = {30, 150, 200, 256, 256, 512};
  walk.repair = [](Dimensions& d) {
    d[2] = std::max<std::uint64_t>(d[2], 1);
    for (const std::size_t list : {3U, 4U}) d[list] = std::clamp<std::uint64_t>(d[list], 1, 256);
    d[5] = std::clamp<std::uint64_t>(d[5], 1, 512);
  };
  walk.prepare = prepare_walk;
  walk.free_counts = {{2, 'c'}, {3, 'c'}};
  walk.outputs = {walk_found, walk_distances, walk_scored};
  walk.compare = judge_walk;
  suite.subjects.push_back(std::move(walk));
}

}  // namespace vectis::inline v0_1::conformance
