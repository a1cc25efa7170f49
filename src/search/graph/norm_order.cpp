#include "search/graph/norm_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t norm_grain = 1024;  // rows per task
constexpr std::size_t reused_max = 1024;

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
  auto sorted = std::make_shared<SortedRows>();
  sorted->slots.reserve(rows.size());
  sorted->norms.reserve((rows.size() + norm_group - 1) / norm_group);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sorted->slots.push_back(lengths[i].slot);
    if (i % norm_group != 0) continue;
    const auto norm = static_cast<float>(std::min(lengths[i].norm, double{std::numeric_limits<float>::max()}));
    sorted->norms.push_back(std::nextafter(norm, std::numeric_limits<float>::infinity()));
  }
  auto order = std::make_shared<NormOrder>();
  order->sorted = std::move(sorted);
  order->slots_end = slots_end;
  return order;
}

std::shared_ptr<const NormOrder> NormOrder::after_reuse(std::span<const Slot> slots) const {
  auto result = std::make_shared<NormOrder>(*this);
  for (const Slot slot : slots) {
    if (slot < slots_end) result->reused.push_back(slot);
  }
  if (result->reused.size() > reused_max) return nullptr;
  return result;
}

std::uint64_t NormOrder::bytes() const noexcept {
  return (sorted->slots.capacity() + reused.capacity()) * sizeof(Slot) + sorted->norms.capacity() * sizeof(float);
}

}  // namespace vectis::inline v0_1::graph
