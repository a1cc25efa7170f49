// Elements chosen by arrays of indices: take, take_along_axis, and their reverses, which add or put elements.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

// An array seen as [outer, extent, inner] around an axis.
struct AroundAxis {
  AroundAxis(const Shape& shape, std::size_t axis) : extent(shape[axis]) {
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

// The indices as positions of an axis of `extent` elements. Throws InvalidInput for one that does not exist.
std::vector<std::int64_t> positions_of(std::string_view op, const Node& indices, std::int64_t extent) {
  std::shared_ptr<Storage> keep;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(indices.elements()));
  if (positions.empty()) return positions;
  load_wide(indices.type, contiguous_data(indices, keep), positions.size(), positions.data());
  for (std::int64_t& position : positions) {
    if (position < -extent || position >= extent) {
      throw_invalid(
          op, fmt::format("index {} of an axis of {} elements; give {} to {}", position, extent, -extent, extent - 1));
    }
    if (position < 0) position += extent;
  }
  return positions;
}

// Integers wrap.
template <class Wide>
void add_to(Wide& sum, Wide value) {
  if constexpr (std::is_integral_v<Wide>) {
    sum = static_cast<Wide>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
  } else {
    sum += value;
  }
}

// Elements as wide values in row-major order.
template <class Wide>
std::vector<Wide> wide_values(const Node& x) {
  std::vector<Wide> values(static_cast<std::size_t>(x.elements()));
  std::shared_ptr<Storage> keep;
  if (!values.empty()) load_wide(x.type, contiguous_data(x, keep), values.size(), values.data());
  return values;
}

// How elements are written where others stand.
enum class Put : std::uint8_t { replace, add };

// --- take: the same indices for all ---------------------------------------------------------------------------------

Tensor spread(const Tensor& values, const Tensor& indices, std::size_t axis, std::int64_t extent);
Tensor take_flat(const Tensor& x, const Tensor& indices, std::size_t axis, const std::source_location& where);

// Copies the elements at a list of indices of an axis.
class Take final : public Primitive {
 public:
  explicit Take(std::size_t axis) : axis_(axis) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "take"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    const AroundAxis around(x.shape, axis_);
    const std::vector<std::int64_t> positions = positions_of(name(), *node.inputs[1].node(), around.extent);
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
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {spread(adjoint, inputs[1], axis_, inputs[0].shape()[axis_]), Tensor()};
  }

 private:
  std::size_t axis_;
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
    return is_real(node.type) ? add_values<double>(values, positions, node)
                              : add_values<std::int64_t>(values, positions, node);
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {take_flat(adjoint, inputs[1], axis_, {}), Tensor()};
  }

 private:
  // Sums are wide and stored once.
  template <class Wide>
  void add_values(const Node& values, const std::vector<std::int64_t>& positions, Node& node) const {
    const AroundAxis around(node.shape, axis_);
    const std::vector<Wide> added = wide_values<Wide>(values);
    const auto inner = static_cast<std::size_t>(around.inner);
    const std::size_t slab = static_cast<std::size_t>(around.extent) * inner;
    const auto add_slabs = [&](std::size_t begin, std::size_t end) {
      std::vector<Wide> sums(slab);
      for (std::size_t outer = begin; outer < end; ++outer) {
        std::ranges::fill(sums, Wide{0});
        const Wide* from = added.data() + outer * positions.size() * inner;
        for (const std::int64_t position : positions) {
          Wide* const to = sums.data() + static_cast<std::size_t>(position) * inner;
          for (std::size_t i = 0; i < inner; ++i) add_to(to[i], from[i]);
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
Tensor take_flat(const Tensor& x, const Tensor& indices, std::size_t axis, const std::source_location& where) {
  Shape shape = x.shape();
  shape[axis] = indices.elements();
  return record(std::make_shared<Take>(axis), {x, indices}, x.dtype(), std::move(shape), where);
}

// --- take_along_axis: an index for each element ---------------------------------------------------------------------

// Copies, for each element of the indices, the element of the axis that it names.
class TakeAlong final : public Primitive {
 public:
  explicit TakeAlong(std::size_t axis) : axis_(axis) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "take_along_axis"; }
  void compute(Node& node) const override;
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override;

 private:
  std::size_t axis_;
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
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const auto axis = static_cast<std::int64_t>(axis_);
    const Tensor of_values = take_along_axis(adjoint, inputs[1], axis);
    if (how_ == Put::add) return {adjoint, Tensor(), of_values};
    // Of several values for one element the last one is kept: the others have no gradient.
    const Tensor numbers = arange(0, static_cast<double>(inputs[1].elements()), 1, DType::int64, options_of(adjoint))
                               .reshape(inputs[1].shape());
    const Tensor marks = put_along_axis(full_like(inputs[0].astype(DType::int64), -1), inputs[1], numbers, axis);
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
      if (how_ == Put::add) {
        add_to(result, put[i]);
      } else {
        result = put[i];
      }
    }
    store_wide(node.type, results.data(), results.size(), node.host_data());
  }

  std::size_t axis_;
  Put how_;
};

void TakeAlong::compute(Node& node) const {
  const Node& x = *node.inputs[0].node();
  const AroundAxis around(x.shape, axis_);
  const std::vector<std::int64_t> positions = positions_of(name(), *node.inputs[1].node(), around.extent);
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

void check_indices(std::string_view op, const Tensor& indices) {
  if (!is_real(indices.dtype()) && indices.dtype() != DType::boolean) return;
  throw_invalid(op, fmt::format("indices are {}; give integers", vectis::name(indices.dtype())));
}

// The shape that x and indices share beside the axis.
Shape along_shape(std::string_view op, const Tensor& x, const Tensor& indices, std::size_t axis) {
  Shape beside = x.shape();
  Shape wanted = indices.shape();
  if (wanted.rank() == beside.rank()) {
    beside[axis] = wanted[axis];
    if (beside == wanted) return wanted;
  }
  throw_invalid(op, fmt::format("shapes {} and {} differ beside axis {}; broadcast the indices", to_string(x.shape()),
                                to_string(indices.shape()), axis));
}

Tensor put_recorded(std::string_view op, Put how, const Operand& x, const Operand& indices, const Operand& values,
                    std::int64_t axis) {
  const Tensor& target = as_tensor(op, x);
  const Tensor& at = as_tensor(op, indices);
  check_devices(op, target, at);
  check_indices(op, at);
  if (how == Put::add && target.dtype() == DType::boolean) {
    throw_invalid(op, "takes numbers, not bool; convert by astype(DType::int32)");
  }
  const std::size_t checked = checked_axis(op, axis, target.rank());
  const Shape shape = along_shape(op, target, at, checked);
  Tensor put = values.tensor() == nullptr ? constant(*target.node()->lane, values.scalar(), target.dtype(), shape)
                                          : broadcast_to(as_tensor(op, values).astype(target.dtype()), shape);
  check_devices(op, target, put);
  return record(std::make_shared<PutAlong>(checked, how), {target, at, std::move(put)}, target.dtype(), target.shape(),
                x.where());
}

}  // namespace

Tensor take(const Operand& x, const Operand& indices, std::int64_t axis) {
  const Tensor& tensor = as_tensor("take", x);
  const Tensor& at = as_tensor("take", indices);
  check_devices("take", tensor, at);
  check_indices("take", at);
  const std::size_t checked = checked_axis("take", axis, tensor.rank());
  const Tensor taken = take_flat(tensor, flatten(at), checked, x.where());
  Shape shape = tensor.shape();
  shape.erase(checked);
  for (std::size_t i = at.rank(); i-- > 0;) shape.insert(checked, at.shape()[i]);
  return reshape(Operand(taken, x.where()), shape);
}

Tensor index_add(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis) {
  const Tensor& tensor = as_tensor("index_add", x);
  const Tensor& at = as_tensor("index_add", indices);
  check_devices("index_add", tensor, at);
  check_indices("index_add", at);
  const std::size_t checked = checked_axis("index_add", axis, tensor.rank());
  if (at.rank() != 1) {
    throw_invalid("index_add", fmt::format("indices have shape {}; give a vector", to_string(at.shape())));
  }
  Shape shape = tensor.shape();
  shape[checked] = at.extent(0);
  if (tensor.dtype() == DType::boolean) {
    throw_invalid("index_add", "takes numbers, not bool; convert by astype(DType::int32)");
  }
  const Tensor added = broadcast_to(as_tensor("index_add", values).astype(tensor.dtype()), shape);
  return tensor + spread(added, at, checked, tensor.shape()[checked]);
}

Tensor take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis) {
  const Tensor& tensor = as_tensor("take_along_axis", x);
  const Tensor& at = as_tensor("take_along_axis", indices);
  check_devices("take_along_axis", tensor, at);
  check_indices("take_along_axis", at);
  const std::size_t checked = checked_axis("take_along_axis", axis, tensor.rank());
  Shape shape = along_shape("take_along_axis", tensor, at, checked);
  return record(std::make_shared<TakeAlong>(checked), {tensor, at}, tensor.dtype(), std::move(shape), x.where());
}

Tensor put_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis) {
  return put_recorded("put_along_axis", Put::replace, x, indices, values, axis);
}
Tensor add_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis) {
  return put_recorded("add_along_axis", Put::add, x, indices, values, axis);
}

}  // namespace vectis::inline v0_1::array
