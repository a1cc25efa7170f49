#include "search/graph/norm_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t norm_grain = 1024;  // rows per task

}  // namespace

std::shared_ptr<const NormOrder> make_norm_order(Executor& executor, const GraphStorage& storage,
                                                 std::span<const Slot> rows, std::size_t slots_end) {
  struct Row {
    double norm = 0;
    Slot slot = 0;
  };
  const std::size_t dim = storage.graph.encoding.projection.dim;
  std::vector<Row> lengths(rows.size());
  executor.parallel_for(rows.size(), norm_grain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> vector(dim);
    for (std::size_t i = begin; i < end; ++i) {
      storage.read_vector(rows[i], vector.data());
      lengths[i] = {std::sqrt(squared_norm(vector.data(), dim)), rows[i]};
    }
  });
  std::ranges::sort(lengths,
                    [](const Row& a, const Row& b) { return a.norm != b.norm ? a.norm > b.norm : a.slot < b.slot; });
  auto order = std::make_shared<NormOrder>();
  order->slots_end = slots_end;
  order->slots.reserve(rows.size());
  order->norms.reserve((rows.size() + norm_group - 1) / norm_group);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    order->slots.push_back(lengths[i].slot);
    if (i % norm_group != 0) continue;
    const auto norm = static_cast<float>(std::min(lengths[i].norm, double{std::numeric_limits<float>::max()}));
    order->norms.push_back(std::nextafter(norm, std::numeric_limits<float>::infinity()));
  }
  return order;
}

}  // namespace vectis::inline v0_1::graph
