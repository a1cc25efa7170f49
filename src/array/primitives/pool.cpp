#include "array/primitives/pool.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/rows.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::size_t axes_max = 3;

// One axis of a plane: its extent, the number of its windows and their rule.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t windows = 1;
  std::int64_t size = 1;
  std::int64_t step = 1;
  std::int64_t padding = 0;

  // The part of window `at` that is not padding: [first, last).
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range(std::int64_t at) const {
    const std::int64_t start = at * step - padding;
    return {std::max<std::int64_t>(start, 0), std::min(start + size, extent)};
  }
  // The windows whose element `place` is not padding: [first, last).
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> windows_with(std::int64_t place) const {
    const std::int64_t before = std::max<std::int64_t>(padding - place, 0);
    const std::int64_t last = (extent - 1 + padding - place) / step + 1;
    return {(before + step - 1) / step, std::min(last, windows)};
  }
};

// One place of all windows of a row: elements of the plane that are `step` apart, and the windows of the row.
struct Taps {
  std::size_t input;
  std::size_t window;
  std::size_t count;
  std::size_t step;

  // Calls body(input, window) for each. Steps of 1 and 2 are constants, so that the compiler makes vectors of them.
  template <class Body>
  void for_each(const Body& body) const {
    if (step == 1) {
      for (std::size_t i = 0; i < count; ++i) body(input + i, window + i);
    } else if (step == 2) {
      for (std::size_t i = 0; i < count; ++i) body(input + 2 * i, window + i);
    } else {
      for (std::size_t i = 0; i < count; ++i) body(input + step * i, window + i);
    }
  }
};

// All pooled axes of an array; arrays with less than three have axes of extent 1 in front.
struct Plane {
  Plane(const Shape& extents, const Shape& positions, const WindowRule& rule, const Shape& padding) {
    const std::size_t skipped = axes_max - rule.sizes.rank();
    for (std::size_t i = 0; i < rule.sizes.rank(); ++i) {
      axes[skipped + i] = {extents[i], positions[i], rule.sizes[i], rule.steps[i], padding[i]};
    }
    const Axis& last = axes[axes_max - 1];
    for (std::int64_t place = 0; place < last.size; ++place) {
      const auto [first, end] = last.windows_with(place);
      if (first >= end) continue;
      taps_.push_back({static_cast<std::size_t>(first * last.step - last.padding + place),
                       static_cast<std::size_t>(first), static_cast<std::size_t>(end - first),
                       static_cast<std::size_t>(last.step)});
    }
  }

  [[nodiscard]] std::size_t inputs() const {
    return static_cast<std::size_t>(axes[0].extent * axes[1].extent * axes[2].extent);
  }
  [[nodiscard]] std::size_t outputs() const {
    return static_cast<std::size_t>(axes[0].windows * axes[1].windows * axes[2].windows);
  }

  // Calls body(first, for_each_taps) for each row of windows along the last axis, the first of which is number `first`.
  template <class Body>
  void for_each_row(const Body& body) const {
    std::size_t first = 0;
    for (std::int64_t z = 0; z < axes[0].windows; ++z) {
      for (std::int64_t y = 0; y < axes[1].windows; ++y) {
        body(first, [&](const auto& visit) { for_each_taps(z, y, visit); });
        first += static_cast<std::size_t>(axes[2].windows);
      }
    }
  }

  std::array<Axis, axes_max> axes;

 private:
  template <class Visit>
  void for_each_taps(std::int64_t z, std::int64_t y, const Visit& visit) const {
    const auto [z_first, z_last] = axes[0].range(z);
    const auto [y_first, y_last] = axes[1].range(y);
    for (std::int64_t i = z_first; i < z_last; ++i) {
      for (std::int64_t j = y_first; j < y_last; ++j) {
        const auto row = static_cast<std::size_t>((i * axes[1].extent + j) * axes[2].extent);
        for (const Taps& taps : taps_) visit(Taps{row + taps.input, taps.window, taps.count, taps.step});
      }
    }
  }

  std::vector<Taps> taps_;  // of a row of elements, which is the first one
};

// Functions of elements have no branches: their outcome cannot be predicted. They return 1 or 0, and `value` or 0.
std::uint32_t is_equal(float a, float b) {
  // NOLINTNEXTLINE(misc-redundant-expression): NaN differs from itself.
  return static_cast<std::uint32_t>(a == b) | (static_cast<std::uint32_t>(a != a) & static_cast<std::uint32_t>(b != b));
}
float value_if(std::uint32_t condition, float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & (0U - condition));
}

// Calls body(plane) for the planes of an array in parallel.
template <class Body>
void for_each_plane(Lane& lane, std::size_t planes, const Plane& plane, const Body& body) {
  constexpr std::size_t elements_per_task_min = 1 << 14;
  lane.executor().parallel_for(planes, elements_per_task_min / std::max<std::size_t>(plane.inputs(), 1) + 1,
                               [&](std::size_t begin, std::size_t end) {
                                 for (std::size_t i = begin; i < end; ++i) body(i);
                               });
}

struct Pooling {
  Plane plane;
  WindowRule rule;
  Shape padding;
};

// From x, the maxima and their gradient: the gradient of x, which equal maxima of a window share.
class MaxPoolGradient final : public Primitive {
 public:
  explicit MaxPoolGradient(std::shared_ptr<const Pooling> pooling) : pooling_(std::move(pooling)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "max_pool_gradient"; }

  void compute(Node& node) const override {
    node.lane->allocate(node);
    std::array<std::shared_ptr<Storage>, 3> keep;
    std::array<const float*, 3> from{};
    for (std::size_t i = 0; i < 3; ++i) {
      from[i] = floats_of(*node.inputs[i].node(), keep[i]);
    }
    const Plane& plane = pooling_->plane;
    const std::size_t planes = static_cast<std::size_t>(node.elements()) / plane.inputs();
    for_each_plane(*node.lane, planes, plane, [&](std::size_t i) {
      const float* const x = from[0] + i * plane.inputs();
      const float* const maxima = from[1] + i * plane.outputs();
      const float* const adjoint = from[2] + i * plane.outputs();
      float* const out = node.data<float>() + i * plane.inputs();
      std::fill_n(out, plane.inputs(), 0.0F);
      std::vector<float> shares(static_cast<std::size_t>(plane.axes[2].windows));  // of each of the equal maxima
      plane.for_each_row([&](std::size_t first, const auto& for_each_taps) {
        const float* const largest = maxima + first;
        float* const share = shares.data();
        std::ranges::fill(shares, 0.0F);
        for_each_taps([&](const Taps& taps) {
          taps.for_each([&](std::size_t at, std::size_t window) {
            share[window] += static_cast<float>(is_equal(x[at], largest[window]));
          });
        });
        for (std::size_t i = 0; i < shares.size(); ++i) share[i] = adjoint[first + i] / share[i];
        for_each_taps([&](const Taps& taps) {
          taps.for_each([&](std::size_t at, std::size_t window) {
            out[at] += value_if(is_equal(x[at], largest[window]), share[window]);
          });
        });
      });
    });
  }

  // Linear in the gradient of the maxima, and constant in x wherever it has a derivative.
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const Shape& padding = pooling_->padding;
    const std::size_t axes = padding.rank();
    const auto windows = [&](const Tensor& x, const Scalar& fill) {
      std::vector<std::pair<std::int64_t, std::int64_t>> widths(x.rank() - axes, {0, 0});
      for (const std::int64_t width : padding) widths.emplace_back(width, width);
      return windows_of("max_pool", pad(x, widths, fill), pooling_->rule, {});
    };
    Shape window_axes;
    Shape spread = inputs[1].shape();
    for (std::size_t i = 0; i < axes; ++i) {
      window_axes.push_back(static_cast<std::int64_t>(inputs[1].rank() + i));
      spread.push_back(1);
    }
    const Tensor is_max = equal(windows(inputs[0], -std::numeric_limits<double>::infinity()), inputs[1].reshape(spread))
                              .astype(DType::float32);
    const Tensor share = is_max / sum(is_max, window_axes, true);
    return {Tensor(), Tensor(), sum(windows(adjoint, 0) * share, window_axes)};
  }

 private:
  std::shared_ptr<const Pooling> pooling_;
};

class MaxPool final : public Primitive {
 public:
  explicit MaxPool(std::shared_ptr<const Pooling> pooling) : pooling_(std::move(pooling)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "max_pool"; }

  void compute(Node& node) const override {
    node.lane->allocate(node);
    std::shared_ptr<Storage> keep;
    const float* const from = floats_of(*node.inputs[0].node(), keep);
    const Plane& plane = pooling_->plane;
    const std::size_t planes = static_cast<std::size_t>(node.elements()) / plane.outputs();
    for_each_plane(*node.lane, planes, plane, [&](std::size_t i) {
      const float* const x = from + i * plane.inputs();
      float* const out = node.data<float>() + i * plane.outputs();
      std::fill_n(out, plane.outputs(), -std::numeric_limits<float>::infinity());
      plane.for_each_row([&](std::size_t first, const auto& for_each_taps) {
        float* const largest = out + first;
        for_each_taps([&](const Taps& taps) {
          taps.for_each([&](std::size_t at, std::size_t window) {
            const float value = x[at];
            const float before = largest[window];
            const bool is_larger = ((value > before) | (value != value)) != 0;  // NOLINT: NaN stays
            largest[window] = is_larger ? value : before;
          });
        });
      });
    });
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    return {record(std::make_shared<MaxPoolGradient>(pooling_), {inputs[0], output, adjoint}, DType::float32,
                   inputs[0].shape(), {})};
  }

 private:
  std::shared_ptr<const Pooling> pooling_;
};

// The mean of each window, in which padding counts as zeros.
class MeanPool final : public Primitive {
 public:
  explicit MeanPool(std::shared_ptr<const Pooling> pooling) : pooling_(std::move(pooling)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "mean_pool"; }

  void compute(Node& node) const override {
    node.lane->allocate(node);
    std::shared_ptr<Storage> keep;
    const float* const from = floats_of(*node.inputs[0].node(), keep);
    const Plane& plane = pooling_->plane;
    const auto size = static_cast<double>(pooling_->rule.sizes.elements());
    const std::size_t planes = static_cast<std::size_t>(node.elements()) / plane.outputs();
    for_each_plane(*node.lane, planes, plane, [&](std::size_t i) {
      const float* const x = from + i * plane.inputs();
      float* const out = node.data<float>() + i * plane.outputs();
      std::vector<double> sums(static_cast<std::size_t>(plane.axes[2].windows));
      plane.for_each_row([&](std::size_t first, const auto& for_each_taps) {
        double* const total = sums.data();
        std::ranges::fill(sums, 0.0);
        for_each_taps([&](const Taps& taps) {
          taps.for_each([&](std::size_t at, std::size_t window) { total[window] += x[at]; });
        });
        for (std::size_t j = 0; j < sums.size(); ++j) out[first + j] = static_cast<float>(total[j] / size);
      });
    });
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override;

 private:
  std::shared_ptr<const Pooling> pooling_;
};

// From the gradient of the means: the gradient of what they are of.
class MeanPoolGradient final : public Primitive {
 public:
  explicit MeanPoolGradient(std::shared_ptr<const Pooling> pooling) : pooling_(std::move(pooling)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "mean_pool_gradient"; }

  void compute(Node& node) const override {
    node.lane->allocate(node);
    std::shared_ptr<Storage> keep;
    const float* const from = floats_of(*node.inputs[0].node(), keep);
    const Plane& plane = pooling_->plane;
    const auto size = static_cast<float>(pooling_->rule.sizes.elements());
    const std::size_t planes = static_cast<std::size_t>(node.elements()) / plane.inputs();
    for_each_plane(*node.lane, planes, plane, [&](std::size_t i) {
      const float* const adjoint = from + i * plane.outputs();
      float* const out = node.data<float>() + i * plane.inputs();
      std::fill_n(out, plane.inputs(), 0.0F);
      std::vector<float> shares(static_cast<std::size_t>(plane.axes[2].windows));
      plane.for_each_row([&](std::size_t first, const auto& for_each_taps) {
        float* const share = shares.data();
        for (std::size_t j = 0; j < shares.size(); ++j) share[j] = adjoint[first + j] / size;
        for_each_taps([&](const Taps& taps) {
          taps.for_each([&](std::size_t at, std::size_t window) { out[at] += share[window]; });
        });
      });
    });
  }

  // Linear in the gradient of the means, whose gradient are means again.
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    return {record(std::make_shared<MeanPool>(pooling_), {adjoint}, DType::float32, inputs[0].shape(), {})};
  }

 private:
  std::shared_ptr<const Pooling> pooling_;
};

std::vector<Tensor> MeanPool::gradient(const Tensor&, std::span<const Tensor> inputs, const Tensor& adjoint) const {
  return {record(std::make_shared<MeanPoolGradient>(pooling_), {adjoint}, DType::float32, inputs[0].shape(), {})};
}

// Records the primitive P, which pools `x`; nothing where other operations must.
template <class P>
std::optional<Tensor> pool(std::string_view op, const Tensor& x, const WindowRule& rule, const Shape& padding,
                           const std::source_location& where) {
  const std::size_t axes = rule.sizes.rank();
  if (!x.node()->lane->is_host() || x.dtype() != DType::float32 || axes > axes_max || x.elements() == 0) {
    return std::nullopt;
  }
  if (std::ranges::any_of(padding, [](std::int64_t width) { return width < 0; })) return std::nullopt;
  const std::size_t before = x.rank() - axes;
  const Shape extents(std::span(x.shape().begin() + before, axes));
  Shape padded = extents;
  for (std::size_t i = 0; i < axes; ++i) padded[i] += 2 * padding[i];
  const Shape positions = window_positions(op, padded, before, rule);
  const auto pooling = std::make_shared<const Pooling>(Plane(extents, positions, rule, padding), rule, padding);
  Shape shape(std::span(x.shape().begin(), before));
  for (const std::int64_t count : positions) shape.push_back(count);
  return record(std::make_shared<P>(pooling), {x}, DType::float32, std::move(shape), where);
}

}  // namespace

std::optional<Tensor> max_pool_natively(const Tensor& x, const WindowRule& rule, const Shape& padding,
                                        const std::source_location& where) {
  return pool<MaxPool>("max_pool", x, rule, padding, where);
}

std::optional<Tensor> mean_pool_natively(const Tensor& x, const WindowRule& rule, const Shape& padding,
                                         const std::source_location& where) {
  return pool<MeanPool>("mean_pool", x, rule, padding, where);
}

}  // namespace vectis::inline v0_1::array
