// CPU seconds of every `add` of an index that grows in equal batches. Prints one JSON object per case:
//   graph_add_bench [rows] [dim] [batch]        default 15000 384 1000
// A stall is an `add` that costs several times as much per linked row as the calls before and after it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/search/index.hpp"
#include "vectis/search/sample_vectors.hpp"

namespace vectis {
namespace {

// Batches on either side whose median cost a batch is compared with.
constexpr std::size_t neighbors_per_side = 2;

struct AddCost {
  std::size_t linked_rows = 0;  // rows that this call linked into a graph
  double cpu_seconds = 0;
  [[nodiscard]] double per_row() const { return cpu_seconds / static_cast<double>(linked_rows); }
};

std::vector<float> gaussian_rows(std::size_t rows, std::size_t dim) {
  Random random(1);
  std::vector<float> values(rows * dim);
  for (float& value : values) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    value = static_cast<float>(radius * std::cos(2 * std::numbers::pi * random.unit()));
  }
  return values;
}

double process_cpu_seconds() { return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC); }

// `auto` has no graph while it is small; the call that builds one links every row.
bool has_graph(const Index& index) {
  return index.kind() != "auto" || index.explain(1, 10).find("no graph") == std::string::npos;
}

std::vector<AddCost> add_in_batches(Index& index, std::span<const float> vectors, std::size_t batch) {
  std::vector<AddCost> costs;
  bool had_graph = has_graph(index);
  const std::size_t dim = index.dim();
  for (std::size_t row = 0; row < vectors.size() / dim; row += batch) {
    const std::size_t count = std::min(batch, vectors.size() / dim - row);
    const double begin = process_cpu_seconds();
    index.add(vectors.subspan(row * dim, count * dim));
    const double seconds = process_cpu_seconds() - begin;
    const bool has_graph_now = has_graph(index);
    costs.push_back({!has_graph_now ? 0 : had_graph ? count : index.size(), seconds});
    had_graph = has_graph_now;
  }
  return costs;
}

// The largest ratio of a batch's cost per linked row to the median of its neighbors'. Batches that linked nothing are
// left out.
double worst_ratio(std::span<const AddCost> costs) {
  std::vector<double> per_row;
  for (const AddCost& cost : costs) {
    if (cost.linked_rows > 0) per_row.push_back(cost.per_row());
  }
  double worst = 0;
  for (std::size_t i = 0; i < per_row.size(); ++i) {
    std::vector<double> neighbors;
    const std::size_t begin = i < neighbors_per_side ? 0 : i - neighbors_per_side;
    for (std::size_t j = begin; j < std::min(per_row.size(), i + neighbors_per_side + 1); ++j) {
      if (j != i) neighbors.push_back(per_row[j]);
    }
    if (neighbors.empty()) continue;
    std::ranges::sort(neighbors);
    const std::size_t middle = neighbors.size() / 2;
    const double median =
        neighbors.size() % 2 == 1 ? neighbors[middle] : (neighbors[middle - 1] + neighbors[middle]) / 2;
    worst = std::max(worst, per_row[i] / median);
  }
  return worst;
}

void measure(const std::string& data, const std::string& kind, std::span<const float> vectors, std::size_t dim,
             std::size_t batch) {
  Runtime runtime;
  const auto index = make_index(kind, dim, Metric::l2, {.runtime = &runtime});
  const std::vector<AddCost> costs = add_in_batches(*index, vectors, batch);
  nlohmann::json result{{"data", data},
                        {"kind", kind},
                        {"rows", index->size()},
                        {"dim", dim},
                        {"batch", batch},
                        {"worst_ratio", worst_ratio(costs)},
                        {"adds", nlohmann::json::array()}};
  double total = 0;
  for (const AddCost& cost : costs) {
    total += cost.cpu_seconds;
    result["adds"].push_back({{"linked_rows", cost.linked_rows},
                              {"cpu_seconds", cost.cpu_seconds},
                              {"cpu_seconds_per_row", cost.linked_rows > 0 ? cost.per_row() : 0}});
  }
  result["total_cpu_seconds"] = total;
  std::cout << result.dump() << std::endl;
}

std::size_t argument(std::span<char*> arguments, std::size_t place, std::size_t otherwise) {
  return place < arguments.size() ? std::strtoull(arguments[place], nullptr, 10) : otherwise;
}

}  // namespace
}  // namespace vectis

int main(int argc, char** argv) {
  using namespace vectis;
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const std::size_t rows = argument(arguments, 1, 15'000);
  const std::size_t dim = argument(arguments, 2, 384);
  const std::size_t batch = argument(arguments, 3, 1000);
  if (rows == 0 || dim == 0 || batch == 0) {
    std::cerr << "graph_add_bench [rows] [dim] [batch]: each must be a number above 0\n";
    return 2;
  }
  const std::vector<float> gaussian = gaussian_rows(rows, dim);
  const std::vector<float> clustered = SampleVectors(1, dim).draw(rows);
  for (const char* kind : {"graph", "auto"}) {
    measure("gaussian", kind, gaussian, dim, batch);
    measure("clustered", kind, clustered, dim, batch);
  }
}
