// Orders and running sums along an axis.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "array/device_kernel.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

constexpr std::size_t sorted_per_task_min = 1 << 13;

// Calls `body(row, values)` with the elements of each row of the last axis as wide values.
template <class Wide, class Body>
void for_rows(const Node& x, const Body& body) {
  std::shared_ptr<Storage> keep;
  const std::byte* const from = contiguous_data(x, keep);
  const auto extent = static_cast<std::size_t>(x.shape[x.shape.rank() - 1]);
  const std::size_t rows = static_cast<std::size_t>(x.elements()) / std::max<std::size_t>(extent, 1);
  x.lane->executor().parallel_for(rows, sorted_per_task_min / std::max<std::size_t>(extent, 1) + 1,
                                  [&](std::size_t begin, std::size_t end) {
                                    std::vector<Wide> values(extent);
                                    for (std::size_t row = begin; row < end; ++row) {
                                      load_wide(x.type, from + row * extent * x.element_bytes(), extent, values.data());
                                      body(row, values);
                                    }
                                  });
}

// Whether a comes before b: by value, NaN last.
template <class Wide>
bool comes_before(Wide a, Wide b, bool descending) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
  return descending ? b < a : a < b;
}

// The first `count` positions of each row of the last axis in the order of their elements; equal ones in the order in
// which they stand.
class Argsort final : public Primitive {
 public:
  Argsort(std::int64_t count, bool descending) : count_(count), descending_(descending) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "argsort"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    return is_real(x.type) ? sort_rows<double>(x, node) : sort_rows<std::int64_t>(x, node);
  }
  // The kernel layer selects up to 1,024 positions of float32, which hold all but int32 exactly.
  [[nodiscard]] bool runs_on_device(const Node& node) const override {
    constexpr std::int64_t positions_max = 1024;
    return count_ <= positions_max && node.inputs[0].dtype() != DType::int32;
  }
  void compute_on_device(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    const DeviceElements values = as_float32(x);
    const auto columns = static_cast<std::uint64_t>(x.shape[x.shape.rank() - 1]);
    const std::uint64_t rows = static_cast<std::uint64_t>(x.elements()) / columns;
    const auto count = static_cast<std::uint64_t>(count_);
    const std::shared_ptr<Storage> best = node.lane->allocate(rows * count * sizeof(float));
    const View views[] = {View(values.storage->buffer.memory(), DType::float32, rows, columns,
                               static_cast<std::uint64_t>(values.offset), columns),
                          View(best->buffer.memory(), DType::float32, rows, count),
                          View(node.storage->buffer.memory(), DType::int32, rows, count)};
    const ParameterValue parameters[] = {int{descending_}};
    node.lane->run_operation("top_k", views, parameters);
    node.storage->bounds = Bounds{0, x.shape[x.shape.rank() - 1] - 1};
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor>, const Tensor&) const override {
    return {Tensor()};
  }

 private:
  template <class Wide>
  void sort_rows(const Node& x, Node& node) const {
    const auto count = static_cast<std::size_t>(count_);
    auto* const out = reinterpret_cast<std::int32_t*>(node.host_data());
    for_rows<Wide>(x, [&](std::size_t row, const std::vector<Wide>& values) {
      std::vector<std::int32_t> order(values.size());
      std::iota(order.begin(), order.end(), 0);
      const auto before = [&](std::int32_t a, std::int32_t b) {
        const Wide left = values[static_cast<std::size_t>(a)];
        const Wide right = values[static_cast<std::size_t>(b)];
        if (comes_before(left, right, descending_)) return true;
        return !comes_before(right, left, descending_) && a < b;
      };
      if (count < order.size()) {
        std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), before);
      } else {
        std::ranges::sort(order, before);
      }
      std::copy_n(order.begin(), count, out + row * count);
    });
  }

  std::int64_t count_;
  bool descending_;
};

// Sums of the elements of the last axis up to and including each.
class CumulativeSum final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cumulative_sum"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    return is_real(node.type) ? sum_rows<double>(node) : sum_rows<std::int64_t>(node);
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    const bool is_direct = node.type == DType::float32 || node.type == DType::int32;
    const DType type = is_direct ? node.type : DType::float32;
    const auto columns = static_cast<std::uint64_t>(x.shape[x.shape.rank() - 1]);
    const std::shared_ptr<Storage> sums = node.lane->allocate(static_cast<std::uint64_t>(x.elements()) * sizeof(float));
    if (node.elements() != 0) {
      const std::uint64_t rows = static_cast<std::uint64_t>(x.elements()) / columns;
      const DeviceElements from = is_direct ? contiguous_on_device(x) : as_float32(x);
      const View views[] = {
          View(from.storage->buffer.memory(), type, rows, columns, static_cast<std::uint64_t>(from.offset), columns),
          View(sums->buffer.memory(), type, rows, columns)};
      node.lane->run_operation("prefix_sum", views, {});
    }
    if (is_direct) {
      node.storage = sums;
    } else {
      store_converted(sums, type, node);
    }
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {flip(cumulative_sum(flip(adjoint, {-1}), -1), {-1}).astype(inputs[0].dtype())};
  }

 private:
  template <class Wide>
  static void sum_rows(Node& node) {
    const Node& x = *node.inputs[0].node();
    for_rows<Wide>(x, [&](std::size_t row, std::vector<Wide>& values) {
      for (std::size_t i = 1; i < values.size(); ++i) values[i] = added(values[i], values[i - 1]);
      store_wide(node.type, values.data(), values.size(),
                 node.host_data() + row * values.size() * node.element_bytes());
    });
  }
};

const CumulativeSum cumulative_sum_primitive;

std::int64_t extent_along(std::string_view op, const Operand& x, std::int64_t axis) {
  const Tensor& tensor = as_tensor(op, x);
  return tensor.shape()[checked_axis(op, axis, tensor.rank())];
}

Tensor sorted_positions(std::string_view op, const Operand& x, std::int64_t axis, std::int64_t count, bool descending) {
  const std::int64_t extent = extent_along(op, x, axis);
  if (extent > std::numeric_limits<std::int32_t>::max()) {
    throw_invalid(op, fmt::format("axis {} has {} elements, more than positions of 32 bits can name; sort in parts",
                                  axis, extent));
  }
  const Tensor last = moveaxis(x, axis, -1);
  Shape shape = last.shape();
  shape[shape.rank() - 1] = count;
  const Tensor positions =
      record(std::make_shared<Argsort>(count, descending), {last}, DType::int32, std::move(shape), x.where());
  return moveaxis(positions, -1, axis);
}

}  // namespace

Tensor argsort(const Operand& x, std::int64_t axis, bool descending) {
  return sorted_positions("argsort", x, axis, extent_along("argsort", x, axis), descending);
}
Tensor sort(const Operand& x, std::int64_t axis, bool descending) {
  const Tensor positions = sorted_positions("sort", x, axis, extent_along("sort", x, axis), descending);
  return take_along_axis(x, positions, axis);
}

std::pair<Tensor, Tensor> top_k(const Operand& x, std::int64_t k, std::int64_t axis, bool largest) {
  const std::int64_t extent = extent_along("top_k", x, axis);
  if (k < 0 || k > extent) {
    throw_invalid("top_k", fmt::format("k is {}, axis {} has {} elements; give 0 to {}", k, axis, extent, extent));
  }
  const Tensor positions = sorted_positions("top_k", x, axis, k, largest);
  return {take_along_axis(x, positions, axis), positions};
}

Tensor cumulative_sum(const Operand& x, std::int64_t axis) {
  const Tensor& tensor = as_tensor("cumulative_sum", x);
  (void)checked_axis("cumulative_sum", axis, tensor.rank());
  const bool is_wide = is_real(tensor.dtype()) || tensor.dtype() == DType::int64;
  const Tensor last = moveaxis(is_wide ? tensor : tensor.astype(DType::int32), axis, -1);
  const Tensor sums = record(unowned(cumulative_sum_primitive), {last}, last.dtype(), last.shape(), x.where());
  return moveaxis(sums, -1, axis);
}

}  // namespace vectis::inline v0_1::array
