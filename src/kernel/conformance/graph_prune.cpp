#include <algorithm>
#include <cmath>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Places of the operands.
enum : std::size_t { prune_x, prune_candidates, prune_distances, prune_chosen, prune_chosen_distances };

double between_rows(const Operand& x, std::uint64_t a, std::uint64_t b) {
  double sum = 0;
  for (std::uint64_t d = 0; d < x.columns(); ++d) {
    const double difference = x.value(a, d) - x.value(b, d);
    sum += difference * difference;
  }
  return sum;
}

// Places of the candidates that are chosen, by the definition: one is taken, others are crossed out.
std::vector<std::uint64_t> chosen_places(const Problem& problem, std::uint64_t list) {
  const std::vector<Operand>& v = problem.operands;
  const double reach = problem.parameters.empty() ? 1 : problem.parameters[0].real;
  std::vector<std::uint64_t> left;
  for (std::uint64_t i = 0; i < v[prune_candidates].columns(); ++i) {
    if (v[prune_candidates].bits(list, i) < v[prune_x].rows()) left.push_back(i);
  }
  std::vector<std::uint64_t> chosen;
  while (!left.empty() && chosen.size() < v[prune_chosen].columns()) {
    const std::uint64_t best = left.front();
    chosen.push_back(best);
    left.erase(left.begin());
    std::erase_if(left, [&](std::uint64_t other) {
      const double apart =
          between_rows(v[prune_x], v[prune_candidates].bits(list, best), v[prune_candidates].bits(list, other));
      return !(apart * reach * reach > v[prune_distances].value(list, other));
    });
  }
  return chosen;
}

// Candidates of a list are rows in the order of their distances to one of them, some of them twice, some none at all.
// All values are small integers, so that every device computes the same.
void prepare_prune(Problem& problem, Random& random) {
  std::vector<Operand>& v = problem.operands;
  Operand& x = v[prune_x];
  for (std::uint64_t row = 0; row < x.rows(); ++row) {
    for (std::uint64_t d = 0; d < x.columns(); ++d) x.set(row, d, std::round(8 * x.value(row, d)));
  }
  std::vector<std::pair<double, std::uint32_t>> list(v[prune_candidates].columns());
  for (std::uint64_t i = 0; i < v[prune_candidates].rows(); ++i) {
    const std::uint64_t from = x.rows() == 0 ? 0 : random.below(x.rows());
    for (auto& [distance, row] : list) {
      const bool none = x.rows() == 0 || random.below(12) == 0;
      row = static_cast<std::uint32_t>(none ? x.rows() + random.below(3) : random.below(x.rows()));
      if (none && random.below(2) == 0) row = ~0U;
      distance = none ? static_cast<double>(random.below(500)) : between_rows(x, from, row);
      if (std::isnan(distance)) distance = 1e6;
    }
    std::sort(list.begin(), list.end());
    for (std::uint64_t k = 0; k < list.size(); ++k) {
      v[prune_distances].set(i, k, list[k].first);
      v[prune_candidates].set_bits(i, k, list[k].second);
    }
  }
}

}  // namespace

// Dimensions: lists, rows, coordinates, candidates, chosen.
void add_graph_prune(Suite& suite) {
  Subject prune;
  prune.operation = "graph_prune";
  prune.type_sets = {{"float32", {DType::float32, DType::int32, DType::float32, DType::int32, DType::float32}, 0}};
  prune.shapes = [](const Dimensions& d, auto) {
    return std::vector<Shape>{{d[1], d[2]}, {d[0], d[3]}, {d[0], d[3]}, {d[0], d[4]}, {d[0], d[4]}};
  };
  prune.small = {{0, 4, 3, 5, 2},     {3, 0, 3, 5, 2},      {1, 1, 1, 1, 1},      {2, 3, 2, 4, 1},
                 {3, 9, 4, 7, 3},     {5, 50, 8, 20, 30},   {4, 100, 17, 64, 12}, {3, 200, 9, 65, 16},
                 {2, 90, 33, 130, 8}, {3, 600, 5, 257, 40}, {2, 700, 3, 512, 512}};
  prune.medium = {23, 411, 19, 61, 13};
  prune.timed = {2000, 20000, 128, 160, 26};
  prune.large = {{300, 3000, 32, 160, 26}, {900, 100, 5, 40, 10}, {7, 900, 130, 512, 64}};
  prune.parameters = {{}, {1.5}, {2.0}, {1.0}};
  prune.data = {Data::uniform, Data::ties, Data::special, Data::zeros};
  prune.random_max = {40, 600, 200, 512, 100};
  prune.repair = [](Dimensions& d) {
    d[2] = std::max<std::uint64_t>(d[2], 1);
    for (const std::size_t list : {3U, 4U}) d[list] = std::clamp<std::uint64_t>(d[list], 1, 512);
  };
  prune.prepare = prepare_prune;
  prune.free_counts = {{0, 'r'}, {0, 'c'}};
  prune.outputs = {prune_chosen, prune_chosen_distances};
  prune.reference = [](const Problem& before, std::size_t output, std::uint64_t list, std::span<Expectation> out) {
    const std::vector<std::uint64_t> chosen = chosen_places(before, list);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t from = output == prune_chosen ? prune_candidates : prune_distances;
      if (i < chosen.size()) {
        out[i] = Expectation::exactly(before.operands[from].bits(list, chosen[i]));
      } else {
        out[i] = Expectation::exactly(output == prune_chosen ? ~0U : 0x7F80'0000U);
      }
    }
  };
  suite.subjects.push_back(std::move(prune));
}

}  // namespace vectis::inline v0_1::conformance
