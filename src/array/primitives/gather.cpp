// Elements chosen by arrays of indices: take, take_along_axis, and their reverses, which add or put elements.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "array/around_axis.hpp"
#include "array/device_kernel.hpp"
#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

// The lowest index of an axis of `extent` elements.
std::int64_t lowest_index(std::int64_t extent, NegativeIndices negative) noexcept {
  return negative == NegativeIndices::from_end ? -extent : 0;
}

// The indices as positions of an axis of `extent` elements. Throws InvalidInput for one that does not exist.
std::vector<std::int64_t> positions_of(std::string_view op, const Node& indices, std::int64_t extent,
                                       NegativeIndices negative = NegativeIndices::from_end) {
  std::vector<std::int64_t> positions = wide_values<std::int64_t>(indices);
  const std::int64_t lowest = lowest_index(extent, negative);
  for (std::int64_t& position : positions) {
    if (position < lowest || position >= extent) {
      throw_invalid(
          op, fmt::format("index {} of an axis of {} elements; give {} to {}", position, extent, lowest, extent - 1));
    }
    if (position < 0) position += extent;
  }
  return positions;
}

// Throws InvalidInput when one of the indices in device memory is no position of an axis of `extent` elements. Reads
// them back unless the host knows their bounds.
void check_on_device(std::string_view op, const Node& indices, std::int64_t extent,
                     NegativeIndices negative = NegativeIndices::from_end) {
  const std::optional<Bounds>& bounds = indices.storage->bounds;
  if (bounds && bounds->min >= lowest_index(extent, negative) && bounds->max < extent) return;
  (void)positions_of(op, *copied_to_host(indices), extent, negative);
}

// The position, a u32, that an index of an axis names: indices below 0 count from its end.
ir::Value position_of(DeviceKernel& kernel, ir::Value index, ir::Value extent) {
  ir::Builder& code = kernel.code();
  const ir::Value position = code.bitcast(index, DType::uint32);
  const ir::Value is_negative = code.binary(ir::Op::lt, index, code.constant(std::int32_t{0}));
  return code.select(is_negative, kernel.add(position, extent), position);
}

// Copies elements of the first input of `node` that its second one names. `index_at` returns the index of the computed
// element from its position along the axis.
template <class IndexAt>
void take_on_device(const Primitive& primitive, std::size_t axis, NegativeIndices negative, Node& node,
                    const IndexAt& index_at) {
  const Node& x = *node.inputs[0].node();
  const Node& indices = *node.inputs[1].node();
  const AroundAxis around(x.shape, axis);
  check_on_device(primitive.name(), indices, around.extent, negative);
  node.lane->allocate(node);
  DeviceKernel kernel(primitive.name());
  const ir::Value extent = kernel.number(around.extent);
  const ir::Value inner = kernel.number(around.inner);
  DeviceKernel::Position at = kernel.split(kernel.index(), kernel.number(node.shape[axis]), inner);
  at.along = position_of(kernel, index_at(kernel, indices, at.along), extent);
  kernel.store(kernel.load(kernel.array(x), kernel.join(at, extent, inner)), node.type, node.storage);
  kernel.run(*node.lane, node.elements());
}

// Whether a kernel in which each element looks for itself among `count` indices takes so few steps that the host would
// not be faster.
bool few_steps(const Node& node, std::int64_t count) {
  constexpr std::int64_t steps_max = std::int64_t{1} << 27;
  return count <= steps_max / std::max<std::int64_t>(1, node.elements());
}

// How elements are written where others stand.
enum class Put : std::uint8_t { replace, add };

// --- take: the same indices for all ---------------------------------------------------------------------------------

Tensor spread(const Tensor& values, const Tensor& indices, std::size_t axis, std::int64_t extent);
Tensor take_flat(const Tensor& x, const Tensor& indices, std::size_t axis, NegativeIndices negative,
                 const std::source_location& where);

// Copies the elements at a list of indices of an axis.
class Take final : public Primitive {
 public:
  Take(std::size_t axis, NegativeIndices negative) : axis_(axis), negative_(negative) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "take"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    const AroundAxis around(x.shape, axis_);
    const std::vector<std::int64_t> positions = positions_of(name(), *node.inputs[1].node(), around.extent, negative_);
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    std::shared_ptr<Storage> keep;
    const std::byte* const from = contiguous_data(x, keep);
    const auto run = static_cast<std::int64_t>(x.element_bytes()) * around.inner;
    const auto count = static_cast<std::int64_t>(positions.size());
    const auto copy = [&](std::size_t begin, std::size_t end) {
      for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
        const std::int64_t row = i / count * around.extent + positions[static_cast<std::size_t>(i % count)];
        std::memcpy(node.host_data() + i * run, from + row * run, static_cast<std::size_t>(run));
      }
    };
    constexpr std::int64_t bytes_per_task_min = 1 << 16;
    node.lane->executor().parallel_for(
        static_cast<std::size_t>(around.outer * count),
        static_cast<std::size_t>(bytes_per_task_min / std::max<std::int64_t>(run, 1) + 1), copy);
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    take_on_device(*this, axis_, negative_, node, [](DeviceKernel& kernel, const Node& indices, ir::Value along) {
      return kernel.load(kernel.array(indices), along);
    });
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {spread(adjoint, inputs[1], axis_, inputs[0].shape()[axis_]), Tensor()};
  }

 private:
  std::size_t axis_;
  NegativeIndices negative_;
};

// Adds elements to zeros at a list of indices of an axis, in order: the reverse of take.
class Spread final : public Primitive {
 public:
  explicit Spread(std::size_t axis) : axis_(axis) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "index_add"; }
  void compute(Node& node) const override {
    const Node& values = *node.inputs[0].node();
    const AroundAxis around(node.shape, axis_);
    const std::vector<std::int64_t> positions = positions_of(name(), *node.inputs[1].node(), around.extent);
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    return is_real(node.type) ? add_values<double>(values, positions, around, node)
                              : add_values<std::int64_t>(values, positions, around, node);
  }
  [[nodiscard]] bool runs_on_device(const Node& node) const override {
    return few_steps(node, node.inputs[1].elements());
  }
  void compute_on_device(Node& node) const override {
    const Node& values = *node.inputs[0].node();
    const Node& indices = *node.inputs[1].node();
    const std::int64_t count = indices.elements();
    const AroundAxis around(node.shape, axis_);
    check_on_device(name(), indices, around.extent);
    node.lane->allocate(node);
    DeviceKernel kernel("index_add");
    ir::Builder& code = kernel.code();
    const DeviceKernel::Array from = kernel.array(values);
    const DeviceKernel::Array index = kernel.array(indices);
    const ir::Value extent = kernel.number(around.extent);
    const ir::Value inner = kernel.number(around.inner);
    const ir::Value trips = kernel.number(count);
    const DeviceKernel::Position at = kernel.split(kernel.index(), extent, inner);
    const auto loop = code.begin_loop(trips, std::array{zero(code, node.type)});
    const ir::Value position = position_of(kernel, kernel.load(index, loop.iteration), extent);
    const ir::Value value = kernel.load(from, kernel.join({at.outer, loop.iteration, at.inner}, trips, inner));
    const ir::Value next =
        code.select(code.binary(ir::Op::eq, position, at.along), code.add(loop.carried[0], value), loop.carried[0]);
    kernel.store(narrowed(code, code.end_loop(loop, std::array{next})[0], node.type), node.type, node.storage);
    kernel.run(*node.lane, node.elements());
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {take_flat(adjoint, inputs[1], axis_, NegativeIndices::from_end, {}), Tensor()};
  }

 private:
  // Sums are wide and stored once.
  template <class Wide>
  static void add_values(const Node& values, const std::vector<std::int64_t>& positions, const AroundAxis& around,
                         Node& node) {
    const std::vector<Wide> wide = wide_values<Wide>(values);
    const auto inner = static_cast<std::size_t>(around.inner);
    const std::size_t slab = static_cast<std::size_t>(around.extent) * inner;
    const auto add_slabs = [&](std::size_t begin, std::size_t end) {
      std::vector<Wide> sums(slab);
      for (std::size_t outer = begin; outer < end; ++outer) {
        std::ranges::fill(sums, Wide{0});
        const Wide* from = wide.data() + outer * positions.size() * inner;
        for (const std::int64_t position : positions) {
          Wide* const to = sums.data() + static_cast<std::size_t>(position) * inner;
          for (std::size_t i = 0; i < inner; ++i) to[i] = added(to[i], from[i]);
          from += inner;
        }
        store_wide(node.type, sums.data(), slab, node.host_data() + outer * slab * node.element_bytes());
      }
    };
    node.lane->executor().parallel_for(static_cast<std::size_t>(around.outer), 1, add_slabs);
  }

  std::size_t axis_;
};

Tensor spread(const Tensor& values, const Tensor& indices, std::size_t axis, std::int64_t extent) {
  Shape shape = values.shape();
  shape[axis] = extent;
  return record(std::make_shared<Spread>(axis), {values, indices}, values.dtype(), std::move(shape), {});
}

// take with a vector of indices.
Tensor take_flat(const Tensor& x, const Tensor& indices, std::size_t axis, NegativeIndices negative,
                 const std::source_location& where) {
  Shape shape = x.shape();
  shape[axis] = indices.elements();
  return record(std::make_shared<Take>(axis, negative), {x, indices}, x.dtype(), std::move(shape), where);
}

// --- take_along_axis: an index for each element ---------------------------------------------------------------------

// Copies, for each element of the indices, the element of the axis that it names.
class TakeAlong final : public Primitive {
 public:
  TakeAlong(std::size_t axis, NegativeIndices negative) : axis_(axis), negative_(negative) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "take_along_axis"; }
  void compute(Node& node) const override;
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    take_on_device(*this, axis_, negative_, node, [](DeviceKernel& kernel, const Node& indices, ir::Value /*along*/) {
      return kernel.current(indices);
    });
  }
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override;

 private:
  std::size_t axis_;
  NegativeIndices negative_;
};

// Writes elements of its third input over, or adds them to, those of its first: the reverse of take_along_axis.
class PutAlong final : public Primitive {
 public:
  PutAlong(std::size_t axis, Put how) : axis_(axis), how_(how) {}
  [[nodiscard]] std::string_view name() const noexcept override {
    return how_ == Put::add ? "add_along_axis" : "put_along_axis";
  }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    return is_real(node.type) ? put_values<double>(node) : put_values<std::int64_t>(node);
  }
  [[nodiscard]] bool runs_on_device(const Node& node) const override {
    return few_steps(node, node.inputs[1].shape()[axis_]);
  }
  void compute_on_device(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    const Node& indices = *node.inputs[1].node();
    const std::int64_t count = indices.shape[axis_];
    const AroundAxis around(x.shape, axis_);
    check_on_device(name(), indices, around.extent);
    node.lane->allocate(node);
    DeviceKernel kernel(name());
    ir::Builder& code = kernel.code();
    const ir::Value initial = kernel.current(x);
    const DeviceKernel::Array values = kernel.array(*node.inputs[2].node());
    const DeviceKernel::Array index = kernel.array(indices);
    const ir::Value extent = kernel.number(around.extent);
    const ir::Value inner = kernel.number(around.inner);
    const ir::Value trips = kernel.number(count);
    const DeviceKernel::Position at = kernel.split(kernel.index(), extent, inner);
    const auto loop = code.begin_loop(trips, std::array{initial});
    const ir::Value from = kernel.join({at.outer, loop.iteration, at.inner}, trips, inner);
    const ir::Value position = position_of(kernel, kernel.load(index, from), extent);
    const ir::Value value = kernel.load(values, from);
    const ir::Value put = how_ == Put::add ? code.add(loop.carried[0], value) : value;
    const ir::Value next = code.select(code.binary(ir::Op::eq, position, at.along), put, loop.carried[0]);
    kernel.store(narrowed(code, code.end_loop(loop, std::array{next})[0], node.type), node.type, node.storage);
    kernel.run(*node.lane, node.elements());
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const auto axis = static_cast<std::int64_t>(axis_);
    const Tensor of_values = take_along_axis(adjoint, inputs[1], axis);
    if (how_ == Put::add) return {adjoint, Tensor(), of_values};
    // Of several values for one element the last one is kept: the others have no gradient.
    const DType type = inputs[1].elements() <= std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
    const Tensor numbers =
        arange(0, static_cast<double>(inputs[1].elements()), 1, type, options_of(adjoint)).reshape(inputs[1].shape());
    const Tensor marks = put_along_axis(full_like(inputs[0].astype(type), -1), inputs[1], numbers, axis);
    const Tensor is_kept = equal(take_along_axis(marks, inputs[1], axis), numbers);
    return {where(less(marks, 0), adjoint, zeros_like(adjoint)), Tensor(),
            where(is_kept, of_values, zeros_like(of_values))};
  }

 private:
  template <class Wide>
  void put_values(Node& node) const {
    const Node& x = *node.inputs[0].node();
    const Node& values = *node.inputs[2].node();
    const AroundAxis around(x.shape, axis_);
    const std::vector<std::int64_t> positions = positions_of(name(), *node.inputs[1].node(), around.extent);
    std::vector<Wide> results = wide_values<Wide>(x);
    const std::vector<Wide> put = wide_values<Wide>(values);
    const std::int64_t count = values.shape[axis_];
    for (std::size_t i = 0; i < put.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i);
      const std::int64_t row = element / around.inner / count * around.extent + positions[i];
      Wide& result = results[static_cast<std::size_t>(row * around.inner + element % around.inner)];
      result = how_ == Put::add ? added(result, put[i]) : put[i];
    }
    store_wide(node.type, results.data(), results.size(), node.host_data());
  }

  std::size_t axis_;
  Put how_;
};

void TakeAlong::compute(Node& node) const {
  const Node& x = *node.inputs[0].node();
  const AroundAxis around(x.shape, axis_);
  const std::vector<std::int64_t> positions = positions_of(name(), *node.inputs[1].node(), around.extent, negative_);
  node.lane->allocate(node);
  if (node.elements() == 0) return;
  std::shared_ptr<Storage> keep;
  const std::byte* const from = contiguous_data(x, keep);
  const std::size_t bytes = node.element_bytes();
  const std::int64_t count = node.shape[axis_];
  const auto copy = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t row = at / around.inner / count * around.extent + positions[i];
      std::memcpy(node.host_data() + i * bytes,
                  from + static_cast<std::size_t>(row * around.inner + at % around.inner) * bytes, bytes);
    }
  };
  constexpr std::size_t elements_per_task_min = 1 << 14;
  node.lane->executor().parallel_for(positions.size(), elements_per_task_min, copy);
}

Gradients TakeAlong::gradient(const Tensor&, std::span<const Tensor> inputs, const Tensor& adjoint) const {
  return {add_along_axis(zeros_like(inputs[0]), inputs[1], adjoint, static_cast<std::int64_t>(axis_)), Tensor()};
}

// An array, its indices and the axis that they select from.
struct Selection {
  const Tensor& x;
  const Tensor& indices;
  std::size_t axis;
};

Selection checked_selection(std::string_view op, const Operand& x, const Operand& indices, std::int64_t axis) {
  const Tensor& tensor = as_tensor(op, x);
  const Tensor& at = as_tensor(op, indices);
  check_devices(op, tensor, at);
  if (is_real(at.dtype()) || at.dtype() == DType::boolean) {
    throw_invalid(op, fmt::format("indices are {}; give integers", vectis::name(at.dtype())));
  }
  return {tensor, at, checked_axis(op, axis, tensor.rank())};
}

void check_numbers(std::string_view op, const Tensor& x) {
  if (x.dtype() == DType::boolean) throw_invalid(op, "takes numbers, not bool; convert by astype(DType::int32)");
}

// The shape that x and indices share beside the axis.
Shape along_shape(std::string_view op, const Selection& selection) {
  Shape beside = selection.x.shape();
  const Shape& wanted = selection.indices.shape();
  if (wanted.rank() == beside.rank()) {
    beside[selection.axis] = wanted[selection.axis];
    if (beside == wanted) return wanted;
  }
  throw_invalid(op, fmt::format("shapes {} and {} differ beside axis {}; broadcast the indices",
                                to_string(selection.x.shape()), to_string(wanted), selection.axis));
}

Tensor put_recorded(std::string_view op, Put how, const Operand& x, const Operand& indices, const Operand& values,
                    std::int64_t axis) {
  const Selection selection = checked_selection(op, x, indices, axis);
  const Tensor& target = selection.x;
  if (how == Put::add) check_numbers(op, target);
  const Shape shape = along_shape(op, selection);
  Tensor put = values.tensor() == nullptr ? constant(*target.node()->lane, values.scalar(), target.dtype(), shape)
                                          : broadcast_to(as_tensor(op, values).astype(target.dtype()), shape);
  check_devices(op, target, put);
  return record(std::make_shared<PutAlong>(selection.axis, how), {target, selection.indices, std::move(put)},
                target.dtype(), target.shape(), x.where());
}

}  // namespace

Tensor take(const Operand& x, const Operand& indices, std::int64_t axis, NegativeIndices negative) {
  const auto [tensor, at, checked] = checked_selection("take", x, indices, axis);
  const Tensor taken = take_flat(tensor, flatten(at), checked, negative, x.where());
  Shape shape = tensor.shape();
  shape.erase(checked);
  for (std::size_t i = at.rank(); i-- > 0;) shape.insert(checked, at.shape()[i]);
  return reshape(Operand(taken, x.where()), shape);
}

Tensor index_add(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis) {
  const auto [tensor, at, checked] = checked_selection("index_add", x, indices, axis);
  if (at.rank() != 1) {
    throw_invalid("index_add", fmt::format("indices have shape {}; give a vector", to_string(at.shape())));
  }
  check_numbers("index_add", tensor);
  Shape shape = tensor.shape();
  shape[checked] = at.extent(0);
  const Tensor values_there = broadcast_to(as_tensor("index_add", values).astype(tensor.dtype()), shape);
  return tensor + spread(values_there, at, checked, tensor.shape()[checked]);
}

Tensor take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis, NegativeIndices negative) {
  const Selection selection = checked_selection("take_along_axis", x, indices, axis);
  return record(std::make_shared<TakeAlong>(selection.axis, negative), {selection.x, selection.indices},
                selection.x.dtype(), along_shape("take_along_axis", selection), x.where());
}

Tensor put_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis) {
  return put_recorded("put_along_axis", Put::replace, x, indices, values, axis);
}
Tensor add_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis) {
  return put_recorded("add_along_axis", Put::add, x, indices, values, axis);
}

}  // namespace vectis::inline v0_1::array
