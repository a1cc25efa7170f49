// Operations that change how the elements of an array are addressed: reshape, permute, slice, broadcast. Their results
// share the memory of their operand where they can.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "array/device_kernel.hpp"
#include "array/dry_run.hpp"
#include "array/operands.hpp"
#include "array/primitives/embed.hpp"
#include "array/strided.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

// Sets the strides of `node`, and whether they are those of a contiguous array.
void set_strides(Node& node, Shape strides) {
  const Shape contiguous = contiguous_strides(node.shape);
  node.is_contiguous = true;
  for (std::size_t axis = 0; axis < strides.rank(); ++axis) {
    if (node.shape[axis] != 1 && strides[axis] != contiguous[axis]) node.is_contiguous = false;
  }
  if (!node.is_contiguous) node.strides = std::move(strides);
}

class Reshape final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "reshape"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    if (x.is_contiguous) return share_value(x, node);
    if (x.is_uniform()) {
      share_value(x, node);
      node.is_contiguous = node.shape.empty();
      node.strides = Shape(node.shape.rank(), 0);
      return;
    }
    contiguous_data(x, node.storage);
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    if (x.is_contiguous || x.storage->host != nullptr) return compute(node);
    node.storage = contiguous_on_device(x).storage;
  }
  void dry_run(Node& node, DryRun& run) const override {
    const Node& x = *node.inputs[0].node();
    if (x.is_contiguous || x.is_uniform()) return compute(node);
    run.allocate(node);
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {reshape(adjoint, inputs[0].shape())};
  }
};

class Permute final : public ViewPrimitive {
 public:
  explicit Permute(Shape axes) : axes_(std::move(axes)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "permute_dims"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    share_value(x, node);
    const Shape from = x.all_strides();
    Shape strides;
    for (const std::int64_t axis : axes_) strides.push_back(from[static_cast<std::size_t>(axis)]);
    set_strides(node, std::move(strides));
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor>, const Tensor& adjoint) const override {
    Shape back(axes_.rank(), 0);
    for (std::size_t i = 0; i < axes_.rank(); ++i)
      back[static_cast<std::size_t>(axes_[i])] = static_cast<std::int64_t>(i);
    return {permute_dims(adjoint, back)};
  }
  [[nodiscard]] bool is_transposition() const noexcept override {
    const auto rank = static_cast<std::int64_t>(axes_.rank());
    for (std::int64_t i = 0; i < rank - 2; ++i) {
      if (axes_[static_cast<std::size_t>(i)] != i) return false;
    }
    return axes_[axes_.rank() - 1] == rank - 2;
  }

 private:
  Shape axes_;
};

class Slice final : public ViewPrimitive {
 public:
  Slice(std::size_t axis, std::int64_t start, std::int64_t step) : axis_(axis), start_(start), step_(step) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "slice"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    share_value(x, node);
    Shape strides = x.all_strides();
    if (node.elements() != 0) node.offset += start_ * strides[axis_];
    strides[axis_] *= step_;
    set_strides(node, std::move(strides));
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {embed(adjoint, inputs[0].shape()[axis_], {axis_, start_, step_}, 0, {})};
  }

 private:
  std::size_t axis_;
  std::int64_t start_;
  std::int64_t step_;
};

class Broadcast final : public ViewPrimitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "broadcast_to"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    share_value(x, node);
    const Shape from = x.all_strides();
    const std::size_t added = node.shape.rank() - x.shape.rank();
    Shape strides(node.shape.rank(), 0);
    for (std::size_t axis = 0; axis < x.shape.rank(); ++axis) {
      if (x.shape[axis] != 1) strides[added + axis] = from[axis];
    }
    set_strides(node, std::move(strides));
  }
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const Shape& shape = inputs[0].shape();
    const std::size_t added = output.rank() - shape.rank();
    Shape repeated;
    for (std::size_t axis = 0; axis < output.rank(); ++axis) {
      if (axis < added || shape[axis - added] != output.shape()[axis]) {
        repeated.push_back(static_cast<std::int64_t>(axis));
      }
    }
    return {reshape(repeated.empty() ? adjoint : sum(adjoint, repeated), shape)};
  }
};

const Reshape reshape_primitive;
const Broadcast broadcast_primitive;

Tensor slice_of(const Tensor& x, std::size_t axis, std::int64_t start, std::int64_t count, std::int64_t step,
                const std::source_location& where) {
  Shape shape = x.shape();
  shape[axis] = count;
  return record(std::make_shared<Slice>(axis, start, step), {x}, x.dtype(), std::move(shape), where);
}

// A range as Python's slice.indices computes it: first element and number of elements.
std::pair<std::int64_t, std::int64_t> bounds_of(const Range& range, std::int64_t extent) {
  const bool forward = range.step > 0;
  const auto clamped = [&](std::int64_t at) {
    if (at < 0) at += extent;
    return forward ? std::clamp<std::int64_t>(at, 0, extent) : std::clamp<std::int64_t>(at, -1, extent - 1);
  };
  const std::int64_t start = range.start ? clamped(*range.start) : forward ? 0 : extent - 1;
  const std::int64_t stop = range.stop ? clamped(*range.stop) : forward ? extent : -1;
  const std::int64_t distance = forward ? stop - start : start - stop;
  if (distance <= 0) return {0, 0};
  // Steps beyond the axis select one element; negating the smallest integer would overflow.
  const std::int64_t size = range.step > 0 ? range.step : -std::max(range.step, -extent - 1);
  return {start, (distance - 1) / size + 1};
}

}  // namespace

Tensor broadcast(const Tensor& x, const Shape& shape, const std::source_location& where) {
  if (x.shape() == shape) return x;
  return record(unowned(broadcast_primitive), {x}, x.dtype(), shape, where);
}

Tensor reshape(const Operand& x, const Shape& shape) {
  const Tensor& tensor = as_tensor("reshape", x);
  Shape result = shape;
  std::int64_t known = 1;
  std::int64_t* unknown = nullptr;
  for (std::int64_t& extent : result) {
    if (extent == -1 && unknown == nullptr) {
      unknown = &extent;
    } else {
      if (extent < 0) throw_invalid("reshape", fmt::format("shape {} has a negative extent", to_string(shape)));
      known *= extent;
    }
  }
  if (unknown != nullptr && known != 0) *unknown = tensor.elements() / known;
  check_shape("reshape", result, tensor.dtype());
  if (result.elements() != tensor.elements()) {
    throw_invalid("reshape", fmt::format("shape {} has {} elements, they do not fit into {}; give extents with that "
                                         "product",
                                         to_string(tensor.shape()), tensor.elements(), to_string(shape)));
  }
  if (result == tensor.shape()) return tensor;
  return record(unowned(reshape_primitive), {tensor}, tensor.dtype(), std::move(result), x.where());
}

Tensor flatten(const Operand& x) { return reshape(x, {-1}); }

Tensor permute_dims(const Operand& x, const Shape& axes) {
  const Tensor& tensor = as_tensor("permute_dims", x);
  const std::size_t rank = tensor.rank();
  if (axes.rank() != rank) {
    throw_invalid("permute_dims",
                  fmt::format("{} axes are named, the array has {}; name each once", axes.rank(), rank));
  }
  (void)checked_axes("permute_dims", axes, rank);
  Shape order;
  Shape shape;
  for (const std::int64_t axis : axes) {
    order.push_back(static_cast<std::int64_t>(checked_axis("permute_dims", axis, rank)));
    shape.push_back(tensor.shape()[static_cast<std::size_t>(order[order.rank() - 1])]);
  }
  if (rank < 2) return tensor;
  return record(std::make_shared<Permute>(std::move(order)), {tensor}, tensor.dtype(), std::move(shape), x.where());
}

Tensor swapaxes(const Operand& x, std::int64_t a, std::int64_t b) {
  const std::size_t rank = as_tensor("swapaxes", x).rank();
  Shape axes = checked_axes("swapaxes", {}, rank);
  std::swap(axes[checked_axis("swapaxes", a, rank)], axes[checked_axis("swapaxes", b, rank)]);
  return permute_dims(x, axes);
}

Tensor moveaxis(const Operand& x, std::int64_t from, std::int64_t to) {
  const std::size_t rank = as_tensor("moveaxis", x).rank();
  Shape axes = checked_axes("moveaxis", {}, rank);
  const std::size_t source = checked_axis("moveaxis", from, rank);
  axes.erase(source);
  axes.insert(checked_axis("moveaxis", to, rank), static_cast<std::int64_t>(source));
  return permute_dims(x, axes);
}

Tensor matrix_transpose(const Operand& x) { return swapaxes(x, -1, -2); }

Tensor expand_dims(const Operand& x, std::int64_t axis) {
  Shape shape = as_tensor("expand_dims", x).shape();
  shape.insert(checked_axis("expand_dims", axis, shape.rank() + 1), 1);
  return reshape(x, shape);
}

Tensor squeeze(const Operand& x, const Shape& axes) {
  const Tensor& tensor = as_tensor("squeeze", x);
  const Shape named = checked_axes("squeeze", axes, tensor.rank());
  Shape shape;
  for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
    const bool is_named = std::ranges::find(named, static_cast<std::int64_t>(axis)) != named.end();
    const std::int64_t extent = tensor.shape()[axis];
    if (is_named && !axes.empty() && extent != 1) {
      throw_invalid("squeeze", fmt::format("axis {} of shape {} has extent {}; only axes of extent 1 can be removed",
                                           axis, to_string(tensor.shape()), extent));
    }
    if (!is_named || extent != 1) shape.push_back(extent);
  }
  return reshape(x, shape);
}

Tensor broadcast_to(const Operand& x, const Shape& shape) {
  const Tensor& tensor = as_tensor("broadcast_to", x);
  check_shape("broadcast_to", shape, tensor.dtype());
  if (broadcast_shapes("broadcast_to", tensor.shape(), shape) != shape) {
    throw_invalid("broadcast_to", fmt::format("shape {} does not fit into {}; only extents of 1 are repeated",
                                              to_string(tensor.shape()), to_string(shape)));
  }
  return broadcast(tensor, shape, x.where());
}

Tensor flip(const Operand& x, const Shape& axes) {
  Tensor result = as_tensor("flip", x);
  for (const std::int64_t axis : checked_axes("flip", axes, result.rank())) {
    result = slice(Operand(result, x.where()), axis, {.step = -1});
  }
  return result;
}

Tensor slice(const Operand& x, std::int64_t axis, const Range& range) {
  const Tensor& tensor = as_tensor("slice", x);
  if (range.step == 0) throw_invalid("slice", "the step is 0; give another number");
  const std::size_t checked = checked_axis("slice", axis, tensor.rank());
  const std::int64_t extent = tensor.shape()[checked];
  const auto [start, count] = bounds_of(range, extent);
  if (start == 0 && count == extent && range.step > 0) return tensor;
  return slice_of(tensor, checked, start, count, count > 1 ? range.step : 1, x.where());
}

Tensor select(const Operand& x, std::int64_t axis, std::int64_t index) {
  const Tensor& tensor = as_tensor("select", x);
  const std::size_t checked = checked_axis("select", axis, tensor.rank());
  const std::int64_t extent = tensor.shape()[checked];
  if (index < -extent || index >= extent) {
    throw_invalid("select", fmt::format("index {} of axis {} of shape {}; give {} to {}", index, axis,
                                        to_string(tensor.shape()), -extent, extent - 1));
  }
  const Tensor one = slice_of(tensor, checked, index < 0 ? index + extent : index, 1, 1, x.where());
  Shape shape = one.shape();
  shape.erase(checked);
  return reshape(Operand(one, x.where()), shape);
}

std::vector<Tensor> split(const Operand& x, std::int64_t parts, std::int64_t axis) {
  const Tensor& tensor = as_tensor("split", x);
  const std::size_t checked = checked_axis("split", axis, tensor.rank());
  const std::int64_t extent = tensor.shape()[checked];
  if (parts < 1 || extent % parts != 0) {
    throw_invalid("split",
                  fmt::format("extent {} cannot be divided into {} equal parts; give a divisor", extent, parts));
  }
  const std::int64_t part = extent / parts;
  std::vector<Tensor> result;
  for (std::int64_t i = 0; i < parts; ++i) result.push_back(slice_of(tensor, checked, i * part, part, 1, x.where()));
  return result;
}

Tensor tile(const Operand& x, const Shape& repetitions) {
  const Tensor& tensor = as_tensor("tile", x);
  Shape shape = tensor.shape();
  Shape times = repetitions;
  while (shape.rank() < times.rank()) shape.insert(0, 1);
  while (times.rank() < shape.rank()) times.insert(0, 1);
  Shape split;     // each axis twice: repetitions, extent
  Shape repeated;  // the same, with the repetitions
  Shape joined;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (times[axis] < 0) throw_invalid("tile", fmt::format("{} repetitions; give 0 or more", times[axis]));
    for (const std::int64_t one : {std::int64_t{1}, shape[axis]}) split.push_back(one);
    for (const std::int64_t one : {times[axis], shape[axis]}) repeated.push_back(one);
    joined.push_back(times[axis] * shape[axis]);
  }
  return reshape(broadcast_to(reshape(x, split), repeated), joined);
}

Tensor repeat(const Operand& x, std::int64_t repetitions, std::int64_t axis) {
  const Tensor& tensor = as_tensor("repeat", x);
  if (repetitions < 0) throw_invalid("repeat", fmt::format("{} repetitions; give 0 or more", repetitions));
  const std::size_t checked = checked_axis("repeat", axis, tensor.rank());
  Shape split = tensor.shape();
  split.insert(checked + 1, 1);
  Shape repeated = split;
  repeated[checked + 1] = repetitions;
  Shape joined = tensor.shape();
  joined[checked] *= repetitions;
  return reshape(broadcast_to(reshape(x, split), repeated), joined);
}

Tensor roll(const Operand& x, std::int64_t shift, std::int64_t axis) {
  const Tensor& tensor = as_tensor("roll", x);
  const std::int64_t extent = tensor.shape()[checked_axis("roll", axis, tensor.rank())];
  if (extent == 0) return tensor;
  const std::int64_t first = (extent - shift % extent) % extent;
  if (first == 0) return tensor;
  return concat(std::vector{slice(x, axis, {.start = first}), slice(x, axis, {.stop = first})}, axis);
}

}  // namespace vectis::inline v0_1::array
