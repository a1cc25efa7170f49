// Arrays made of the elements of several: embed (pad, and the reverse of slice) and concat.

#include <fmt/format.h>

#include <algorithm>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/embed.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

// The axes before and after `axis` as one each.
struct Split {
  Split(const Shape& shape, std::size_t axis) {
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

// Copies `x` to the positions of an axis of `node`.
void place(const Node& x, Node& node, const Positions& at) {
  if (x.elements() == 0) return;
  const Split split(node.shape, at.axis);
  const std::int64_t extent = x.shape[at.axis];
  const std::int64_t run = at.step == 1 ? extent * split.inner : split.inner;  // elements that are adjacent in both
  const std::int64_t runs = at.step == 1 ? 1 : extent;
  const auto bytes = static_cast<std::int64_t>(node.element_bytes());
  const StridedReader reader(x);
  const auto copy_outer = [&](std::size_t begin, std::size_t end) {
    for (auto outer = static_cast<std::int64_t>(begin); outer < static_cast<std::int64_t>(end); ++outer) {
      for (std::int64_t i = 0; i < runs; ++i) {
        const std::int64_t target = (outer * node.shape[at.axis] + at.start + i * at.step) * split.inner;
        reader.read((outer * runs + i) * run, run, node.host_data() + target * bytes);
      }
    }
  };
  constexpr std::int64_t elements_per_task_min = 1 << 15;
  const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(1, elements_per_task_min / (runs * run)));
  node.lane->executor().parallel_for(static_cast<std::size_t>(split.outer), grain, copy_outer);
}

class Embed final : public Primitive {
 public:
  Embed(const Positions& at, const Scalar& fill) : at_(at), fill_(fill) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "pad"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    fill(node);
    place(*node.inputs[0].node(), node, at_);
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const std::int64_t count = inputs[0].shape()[at_.axis];
    const std::int64_t last = at_.start + (count - 1) * at_.step;
    Range range{.start = at_.start, .stop = last + (at_.step > 0 ? 1 : -1), .step = at_.step};
    if (count == 0) range = {.start = 0, .stop = 0};
    if (range.stop == -1) range.stop.reset();
    return {slice(adjoint, static_cast<std::int64_t>(at_.axis), range)};
  }

 private:
  void fill(Node& node) const {
    if (node.elements() == 0) return;
    const Tensor value = constant(*node.lane, fill_, node.type, node.shape);
    StridedReader(*value.node()).read_all(node.lane->executor(), node.host_data());
  }

  Positions at_;
  Scalar fill_;
};

class Concat final : public Primitive {
 public:
  explicit Concat(std::size_t axis) : axis_(axis) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "concat"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    std::int64_t start = 0;
    for (const Tensor& input : node.inputs) {
      place(*input.node(), node, {axis_, start, 1});
      start += input.shape()[axis_];
    }
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    Gradients gradients;
    std::int64_t start = 0;
    for (const Tensor& input : inputs) {
      const std::int64_t stop = start + input.shape()[axis_];
      gradients.push_back(slice(adjoint, static_cast<std::int64_t>(axis_), {.start = start, .stop = stop}));
      start = stop;
    }
    return gradients;
  }

 private:
  std::size_t axis_;
};

}  // namespace

Tensor embed(const Tensor& x, std::int64_t extent, const Positions& at, const Scalar& fill,
             const std::source_location& where) {
  Shape shape = x.shape();
  shape[at.axis] = extent;
  check_shape("pad", shape, x.dtype());
  return record(std::make_shared<Embed>(at, fill), {x}, x.dtype(), std::move(shape), where);
}

Tensor concat(std::span<const Tensor> tensors, std::int64_t axis) {
  if (tensors.empty()) throw_invalid("concat", "no arrays; give at least one");
  DType type = DType::boolean;
  for (const Tensor& tensor : tensors) type = promote(type, as_tensor("concat", tensor).dtype());
  Shape shape = tensors[0].shape();
  const std::size_t joined = checked_axis("concat", axis, shape.rank());
  shape[joined] = 0;
  std::vector<Tensor> inputs;
  for (const Tensor& tensor : tensors) {
    check_devices("concat", tensors[0], tensor);
    Shape other = tensor.shape();
    const bool has_rank = other.rank() == shape.rank();
    const std::int64_t extent = has_rank ? std::exchange(other[joined], shape[joined]) : 0;
    if (!has_rank || other != shape) {
      throw_invalid("concat", fmt::format("shapes {} and {} differ beside axis {}; reshape one of them",
                                          to_string(tensors[0].shape()), to_string(tensor.shape()), axis));
    }
    shape[joined] += extent;
    check_shape("concat", shape, type);
    inputs.push_back(tensor.astype(type));
  }
  return record(std::make_shared<Concat>(joined), std::move(inputs), type, std::move(shape), {});
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t axis) {
  if (tensors.empty()) throw_invalid("stack", "no arrays; give at least one");
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (as_tensor("stack", tensor).shape() != tensors[0].shape()) {
      throw_invalid("stack", fmt::format("shapes {} and {} differ; give arrays of one shape",
                                         to_string(tensors[0].shape()), to_string(tensor.shape())));
    }
    parts.push_back(expand_dims(tensor, axis));
  }
  return concat(parts, axis);
}

Tensor pad(const Operand& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths, const Scalar& value) {
  Tensor result = as_tensor("pad", x);
  if (widths.size() != result.rank()) {
    throw_invalid("pad", fmt::format("{} pairs of widths for an array of {} axes; give one for each axis",
                                     widths.size(), result.rank()));
  }
  for (std::size_t axis = 0; axis < widths.size(); ++axis) {
    constexpr std::int64_t width_max = std::int64_t{1} << 56;
    const auto [before, after] = widths[axis];
    if (before < 0 || after < 0 || before > width_max || after > width_max) {
      throw_invalid("pad", fmt::format("widths {} and {} of axis {}; give 0 to 2^56, and slice to remove elements",
                                       before, after, axis));
    }
    if (before == 0 && after == 0) continue;
    result = embed(result, before + result.shape()[axis] + after, {axis, before, 1}, value, x.where());
  }
  return result;
}

}  // namespace vectis::inline v0_1::array
