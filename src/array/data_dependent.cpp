// Functions whose result has a shape that depends on the elements. They compute at the call.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

Tensor vector_of(const std::vector<std::int64_t>& values, const Tensor& beside) {
  const Shape shape = {static_cast<std::int64_t>(values.size())};
  return indices_beside(beside, Tensor::from_cpu(values, shape, {.runtime = &runtime_of(beside)}));
}

// The elements as wide values, from any device.
template <class Wide>
std::vector<Wide> values_of(const Tensor& x) {
  const Lane& lane = *x.node()->lane;
  const Device host = lane.engine().lane(std::nullopt).device();
  return wide_values<Wide>(*x.on(host).eval().node());
}

// The first position of each different element in increasing order, how often it occurs, and for each element the
// number of its group. Each NaN differs from every other number.
struct Groups {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> inverse;
};

template <class Wide>
Groups groups_of(const Tensor& x) {
  const std::vector<Wide> values = values_of<Wide>(x);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const bool a_is_nan = is_nan(values[a]);
    const bool b_is_nan = is_nan(values[b]);
    if (a_is_nan != b_is_nan) return b_is_nan;
    return a_is_nan || values[a] == values[b] ? a < b : values[a] < values[b];
  });
  Groups groups;
  groups.inverse.resize(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || values[order[i]] != values[order[i - 1]]) {
      groups.first.push_back(static_cast<std::int64_t>(order[i]));
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[order[i]] = static_cast<std::int64_t>(groups.counts.size()) - 1;
  }
  return groups;
}

}  // namespace

std::vector<Tensor> nonzero(const Operand& x) {
  const Tensor& tensor = as_tensor("nonzero", x);
  if (tensor.rank() == 0) throw_invalid("nonzero", "a scalar has no axes; reshape it to (1,)");
  const std::vector<bool> truth = tensor.astype(DType::boolean).to_cpu<bool>();
  std::vector<std::vector<std::int64_t>> indices(tensor.rank());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!truth[i]) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = tensor.rank(); axis-- > 0;) {
      indices[axis].push_back(rest % tensor.shape()[axis]);
      rest /= tensor.shape()[axis];
    }
  }
  std::vector<Tensor> result;
  result.reserve(indices.size());
  for (const std::vector<std::int64_t>& along : indices) result.push_back(vector_of(along, tensor));
  return result;
}

Unique unique(const Operand& x) {
  const Tensor& tensor = as_tensor("unique", x);
  const Groups groups = is_real(tensor.dtype()) ? groups_of<double>(tensor) : groups_of<std::int64_t>(tensor);
  const Tensor first = vector_of(groups.first, tensor);
  return {.values = take(flatten(tensor), first),
          .indices = first,
          .inverse = vector_of(groups.inverse, tensor).reshape(tensor.shape()),
          .counts = vector_of(groups.counts, tensor)};
}

}  // namespace vectis::inline v0_1::array
