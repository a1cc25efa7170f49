#include "array/primitives/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

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

Tensor fold(const Tensor& windows, const Shape& extents, const WindowRule& rule);

// A view in which elements of overlapping windows occur several times.
class Windows final : public ViewPrimitive {
 public:
  explicit Windows(WindowRule rule) : rule_(std::move(rule)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "windows"; }
  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    share_value(x, node);
    const Shape from = x.all_strides();
    const std::size_t axes = rule_.sizes.rank();
    const std::size_t before = x.shape.rank() - axes;
    Shape strides(std::span(from.begin(), before));
    for (std::size_t i = 0; i < axes; ++i) strides.push_back(from[before + i] * rule_.steps[i]);
    for (std::size_t i = 0; i < axes; ++i) strides.push_back(from[before + i] * rule_.dilations[i]);
    node.is_contiguous = false;
    node.strides = std::move(strides);
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const Shape& shape = inputs[0].shape();
    return {fold(adjoint, Shape(std::span(shape.end() - rule_.sizes.rank(), rule_.sizes.rank())), rule_)};
  }

 private:
  WindowRule rule_;
};

// One axis of a plane and of its windows, in a kernel.
struct KernelAxis {
  ir::Value extent;
  ir::Value windows;
  ir::Value size;
  ir::Value step;
  ir::Value dilation;
  ir::Value at;  // the computed element
};

// Sums of the elements of all windows at the places from which `windows` took them: its reverse.
class Fold final : public Primitive {
 public:
  explicit Fold(WindowRule rule) : rule_(std::move(rule)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "fold"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    return is_real(node.type) ? add_windows<double>(node) : add_windows<std::int64_t>(node);
  }
  // Each element looks for itself at every place of a window.
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    node.lane->allocate(node);
    const Node& windows = *node.inputs[0].node();
    const std::size_t axes = rule_.sizes.rank();
    const std::size_t before = node.shape.rank() - axes;
    DeviceKernel kernel("fold");
    ir::Builder& code = kernel.code();
    const DeviceKernel::Array from = kernel.array(windows);
    std::vector<KernelAxis> along;
    for (std::size_t i = 0; i < axes; ++i) {
      along.push_back({kernel.number(node.shape[before + i]),
                       kernel.number(windows.shape[before + i]),
                       kernel.number(rule_.sizes[i]),
                       kernel.number(rule_.steps[i]),
                       kernel.number(rule_.dilations[i]),
                       {}});
    }
    const ir::Value places = kernel.number(rule_.sizes.elements());
    ir::Value plane = kernel.index();
    for (std::size_t i = axes; i-- > 0;) {
      along[i].at = kernel.rem(plane, along[i].extent);
      plane = kernel.div(plane, along[i].extent);
    }
    const auto loop = code.begin_loop(places, std::array{zero(code, node.type)});
    ir::Value is_covered = code.constant(true);
    ir::Value rest = loop.iteration;
    std::vector<ir::Value> window(axes);
    for (std::size_t i = axes; i-- > 0;) {
      const ir::Value distance = kernel.mul(kernel.rem(rest, along[i].size), along[i].dilation);
      rest = kernel.div(rest, along[i].size);
      const ir::Value start = code.sub(along[i].at, distance);  // of the window, in the plane
      window[i] = kernel.div(start, along[i].step);
      for (const ir::Value holds : {code.binary(ir::Op::ge, along[i].at, distance),
                                    code.binary(ir::Op::eq, kernel.mul(window[i], along[i].step), start),
                                    code.binary(ir::Op::lt, window[i], along[i].windows)}) {
        is_covered = code.binary(ir::Op::bit_and, is_covered, holds);
      }
    }
    ir::Value position = plane;
    for (std::size_t i = 0; i < axes; ++i) position = kernel.add(kernel.mul(position, along[i].windows), window[i]);
    position = kernel.add(kernel.mul(position, places), loop.iteration);
    const ir::Value sum = code.add(loop.carried[0], kernel.load(from, position));
    const ir::Value next = code.select(is_covered, sum, loop.carried[0]);
    kernel.store(narrowed(code, code.end_loop(loop, std::array{next})[0], node.type), node.type, node.storage);
    kernel.run(*node.lane, node.elements());
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor>, const Tensor& adjoint) const override {
    return {windows_of("fold", adjoint, rule_, {})};
  }

 private:
  // Adds the windows of each plane, the last axes, in wide arithmetic.
  template <class Wide>
  void add_windows(Node& node) const {
    const Node& windows = *node.inputs[0].node();
    const std::size_t axes = rule_.sizes.rank();
    const std::size_t before = node.shape.rank() - axes;
    const Shape plane(std::span(node.shape.begin() + before, axes));
    const Shape elements_of_plane(std::span(windows.shape.begin() + before, 2 * axes));
    const std::vector<std::int64_t> targets = targets_in(plane, elements_of_plane);
    std::shared_ptr<Storage> keep;
    const std::byte* const from = windows.elements() == 0 ? nullptr : contiguous_data(windows, keep);
    const auto out_elements = static_cast<std::size_t>(plane.elements());
    const std::size_t planes = static_cast<std::size_t>(node.elements()) / out_elements;
    const auto add_planes = [&](std::size_t begin, std::size_t end) {
      std::vector<Wide> values(targets.size());
      std::vector<Wide> sums(out_elements);
      for (std::size_t i = begin; i < end; ++i) {
        if (from != nullptr)
          load_wide(node.type, from + i * targets.size() * node.element_bytes(), values.size(), values.data());
        std::ranges::fill(sums, Wide{0});
        for (std::size_t element = 0; element < targets.size(); ++element) {
          Wide& sum = sums[static_cast<std::size_t>(targets[element])];
          sum = added(sum, values[element]);
        }
        store_wide(node.type, sums.data(), sums.size(), node.host_data() + i * out_elements * node.element_bytes());
      }
    };
    node.lane->executor().parallel_for(planes, (1U << 14U) / std::max<std::size_t>(targets.size(), 1) + 1, add_planes);
  }

  // The position in the plane of each element of its windows, in row-major order.
  [[nodiscard]] std::vector<std::int64_t> targets_in(const Shape& plane, const Shape& elements) const {
    const std::size_t axes = plane.rank();
    const Shape strides = contiguous_strides(plane);
    std::vector<std::int64_t> targets = {0};
    for (std::size_t axis = 0; axis < elements.rank(); ++axis) {
      const std::size_t of = axis % axes;
      const std::int64_t step = strides[of] * (axis < axes ? rule_.steps[of] : rule_.dilations[of]);
      std::vector<std::int64_t> longer;
      longer.reserve(targets.size() * static_cast<std::size_t>(elements[axis]));
      for (const std::int64_t target : targets) {
        for (std::int64_t i = 0; i < elements[axis]; ++i) longer.push_back(target + i * step);
      }
      targets = std::move(longer);
    }
    return targets;
  }

  WindowRule rule_;
};

Tensor fold(const Tensor& windows, const Shape& extents, const WindowRule& rule) {
  Shape shape(std::span(windows.shape().begin(), windows.rank() - 2 * extents.rank()));
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return record(std::make_shared<Fold>(rule), {windows}, windows.dtype(), std::move(shape), {});
}

}  // namespace

Shape window_positions(std::string_view op, const Shape& extents, std::size_t first, const WindowRule& rule) {
  Shape positions;
  for (std::size_t i = 0; i < rule.sizes.rank(); ++i) {
    if (rule.sizes[i] < 1 || rule.steps[i] < 1 || rule.dilations[i] < 1) {
      throw_invalid(op, fmt::format("window {}, step {}, dilation {}; give 1 or more", rule.sizes[i], rule.steps[i],
                                    rule.dilations[i]));
    }
    const std::int64_t extent = extents[i];
    if (extent == 0 || rule.sizes[i] - 1 > (extent - 1) / rule.dilations[i]) {
      throw_invalid(op,
                    fmt::format("a window of {} elements, {} apart, does not fit into axis {}, which has {} with its "
                                "padding; pad more or shorten the window",
                                rule.sizes[i], rule.dilations[i], first + i, extent));
    }
    const std::int64_t covered = (rule.sizes[i] - 1) * rule.dilations[i] + 1;
    positions.push_back((extent - covered) / rule.steps[i] + 1);
  }
  return positions;
}

Tensor windows_of(std::string_view op, const Tensor& x, const WindowRule& rule, const std::source_location& where) {
  const std::size_t axes = rule.sizes.rank();
  const std::size_t before = x.rank() - axes;
  Shape shape(std::span(x.shape().begin(), before));
  const Shape extents(std::span(x.shape().begin() + before, axes));
  for (const std::int64_t positions : window_positions(op, extents, before, rule)) shape.push_back(positions);
  for (const std::int64_t size : rule.sizes) shape.push_back(size);
  check_shape(op, shape, x.dtype());
  return record(std::make_shared<Windows>(rule), {x}, x.dtype(), std::move(shape), where);
}

}  // namespace vectis::inline v0_1::array
