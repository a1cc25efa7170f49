#include "array/primitives/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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
class Windows final : public Primitive {
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
          if constexpr (std::is_integral_v<Wide>) {
            sum = static_cast<Wide>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(values[element]));
          } else {
            sum += values[element];
          }
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

Tensor windows_of(std::string_view op, const Tensor& x, const WindowRule& rule, const std::source_location& where) {
  const std::size_t axes = rule.sizes.rank();
  const std::size_t before = x.rank() - axes;
  Shape shape(std::span(x.shape().begin(), before));
  for (std::size_t i = 0; i < axes; ++i) {
    if (rule.sizes[i] < 1 || rule.steps[i] < 1 || rule.dilations[i] < 1) {
      throw_invalid(op, fmt::format("window {}, step {}, dilation {}; give 1 or more", rule.sizes[i], rule.steps[i],
                                    rule.dilations[i]));
    }
    const std::int64_t extent = x.shape()[before + i];
    if (extent == 0 || rule.sizes[i] - 1 > (extent - 1) / rule.dilations[i]) {
      throw_invalid(op,
                    fmt::format("a window of {} elements, {} apart, does not fit into axis {}, which has {} with its "
                                "padding; pad more or shorten the window",
                                rule.sizes[i], rule.dilations[i], before + i, extent));
    }
    const std::int64_t covered = (rule.sizes[i] - 1) * rule.dilations[i] + 1;
    shape.push_back((extent - covered) / rule.steps[i] + 1);
  }
  for (const std::int64_t size : rule.sizes) shape.push_back(size);
  check_shape(op, shape, x.dtype());
  return record(std::make_shared<Windows>(rule), {x}, x.dtype(), std::move(shape), where);
}

}  // namespace vectis::inline v0_1::array
