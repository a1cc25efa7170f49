// Arrays made of the elements of several: embed (pad, and the reverse of slice) and concat.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "array/around_axis.hpp"
#include "array/device_kernel.hpp"
#include "array/dry_run.hpp"
#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/embed.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

// Copies `x` to the positions of an axis of `node`.
void place(const Node& x, Node& node, const Positions& at) {
  if (x.elements() == 0) return;
  const AroundAxis around(node.shape, at.axis);
  const std::int64_t extent = x.shape[at.axis];
  const std::int64_t run = at.step == 1 ? extent * around.inner : around.inner;  // elements that are adjacent in both
  const std::int64_t runs = at.step == 1 ? 1 : extent;
  const auto bytes = static_cast<std::int64_t>(node.element_bytes());
  const StridedReader reader(x);
  const auto copy_adjacent = [&](std::size_t begin, std::size_t end) {
    const std::byte* from = x.host_data() + static_cast<std::int64_t>(begin) * run * bytes;
    std::byte* to =
        node.host_data() + (static_cast<std::int64_t>(begin) * node.shape[at.axis] + at.start) * around.inner * bytes;
    for (std::size_t outer = begin; outer < end; ++outer) {
      std::memcpy(to, from, static_cast<std::size_t>(run * bytes));
      from += run * bytes;
      to += node.shape[at.axis] * around.inner * bytes;
    }
  };
  const auto copy_outer = [&](std::size_t begin, std::size_t end) {
    if (x.is_contiguous && at.step == 1) return copy_adjacent(begin, end);
    for (auto outer = static_cast<std::int64_t>(begin); outer < static_cast<std::int64_t>(end); ++outer) {
      for (std::int64_t i = 0; i < runs; ++i) {
        const std::int64_t target = (outer * node.shape[at.axis] + at.start + i * at.step) * around.inner;
        reader.read((outer * runs + i) * run, run, node.host_data() + target * bytes);
      }
    }
  };
  constexpr std::int64_t elements_per_task_min = 1 << 15;
  const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(1, elements_per_task_min / (runs * run)));
  node.lane->executor().parallel_for(static_cast<std::size_t>(around.outer), grain, copy_outer);
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
  void dry_run(Node& node, DryRun& run) const override { run.allocate(node); }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    const AroundAxis around(node.shape, at_.axis);
    const std::int64_t count = x.shape[at_.axis];
    node.lane->allocate(node);
    const Tensor fill = constant(*node.lane, fill_, node.type, {});
    DeviceKernel kernel("pad");
    ir::Builder& code = kernel.code();
    ir::Value value = kernel.current(*fill.node());
    if (x.elements() != 0) {
      const ir::Value inner = kernel.number(around.inner);
      const ir::Value extent = kernel.number(count);
      DeviceKernel::Position at = kernel.split(kernel.index(), kernel.number(around.extent), inner);
      // Steps down are steps up from the last element, counted back.
      const std::int64_t lowest = at_.step > 0 ? at_.start : at_.start + (count - 1) * at_.step;
      const ir::Value low = kernel.number(lowest);
      const ir::Value above = code.sub(at.along, low);
      const ir::Value step = kernel.number(std::abs(at_.step));
      const ir::Value number = kernel.div(above, step);
      const ir::Value is_step = code.binary(ir::Op::eq, kernel.mul(number, step), above);
      const ir::Value is_between =
          code.binary(ir::Op::bit_and, code.binary(ir::Op::ge, at.along, low), code.binary(ir::Op::lt, number, extent));
      const ir::Value is_there = code.binary(ir::Op::bit_and, is_step, is_between);
      at.along = at_.step > 0 ? number : code.sub(code.sub(extent, code.constant(std::uint32_t{1})), number);
      value = code.select(is_there, kernel.load(kernel.array(x), kernel.join(at, extent, inner)), value);
    }
    kernel.store(value, node.type, node.storage);
    kernel.run(*node.lane, node.elements());
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
  void dry_run(Node& node, DryRun& run) const override {
    run.allocate(node);
    if (node.lane->is_host()) return;
    for (const Tensor& input : node.inputs) {
      const std::shared_ptr<Storage> copy = run.copy_unless_contiguous(*input.node());
    }
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    node.lane->allocate(node);
    const AroundAxis around(node.shape, axis_);
    const DType type = stored_type(node.type);
    std::int64_t start = 0;
    for (const Tensor& input : node.inputs) {
      const Node& x = *input.node();
      if (x.elements() == 0) continue;
      const DeviceElements from = contiguous_on_device(x);
      const auto columns = static_cast<std::uint64_t>(x.shape[axis_] * around.inner);
      const auto rows = static_cast<std::uint64_t>(around.outer);
      const View views[] = {
          View(from.storage->buffer.memory(), type, rows, columns, static_cast<std::uint64_t>(from.offset), columns),
          View(node.storage->buffer.memory(), type, rows, columns, static_cast<std::uint64_t>(start * around.inner),
               static_cast<std::uint64_t>(around.extent * around.inner))};
      node.lane->run_operation("copy", views, {});
      start += x.shape[axis_];
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
