// Convolution and its gradients by the CPU backend's operation `convolution`, which oneDNN computes. The three arrays
// of a convolution (input, weights, output) are a trilinear form: the gradient of computing one of them from the other
// two computes those, so that gradients of any order need nothing else.

#include "array/primitives/convolution.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "array/dry_run.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/pooled.hpp"
#include "array/strided.hpp"
#include "device/launch.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Larger extents, steps and so on are left to other operations: oneDNN computes positions in 32 bits.
constexpr std::int64_t number_max = 1 << 26;

// The array that is computed from the other two. As numbers they are parameters of the operation.
enum class ConvTarget : std::uint8_t { output, input, weights };

constexpr std::array<std::string_view, 3> conv_names = {"conv", "conv_input_gradient", "conv_weight_gradient"};

// The parameters of the operation without its first one, the target, and the shapes of its arrays.
struct ConvGeometry {
  ConvGeometry(const Tensor& x, const Tensor& weights, const ConvRule& rule, const Shape& positions)
      : input(x.shape()), filter(weights.shape()), type(x.dtype()) {
    output = {input[0], filter[0]};
    for (const std::int64_t extent : positions) output.push_back(extent);
    const std::size_t axes = positions.rank();
    numbers = {
        static_cast<std::int64_t>(type), static_cast<std::int64_t>(axes), input[0], rule.groups, input[1], filter[0]};
    for (std::size_t i = 0; i < axes; ++i) {
      for (const std::int64_t number : {input[2 + i], positions[i], filter[2 + i], rule.windows.steps[i],
                                        rule.padding[i], rule.windows.dilations[i]}) {
        numbers.push_back(number);
      }
    }
  }
  [[nodiscard]] const Shape& shape_of(ConvTarget target) const {
    if (target == ConvTarget::output) return output;
    return target == ConvTarget::input ? input : filter;
  }
  [[nodiscard]] std::vector<VectisNumber> parameters(ConvTarget target) const {
    std::vector<VectisNumber> result = {{static_cast<std::int64_t>(target), 0}};
    for (const std::int64_t number : numbers) result.push_back({number, static_cast<double>(number)});
    return result;
  }

  Shape input;
  Shape filter;
  Shape output;
  DType type;
  std::vector<std::int64_t> numbers;
};

detail::OpView one_row(const Storage& storage, std::int64_t offset, std::int64_t elements, DType type) {
  const auto columns = static_cast<std::uint64_t>(elements);
  return {&storage.buffer.memory(), static_cast<std::uint64_t>(offset), 1, columns, columns, type};
}

// The bytes of workspace that the operation needs, or nothing when the CPU does not compute it.
std::optional<std::uint64_t> workspace_of(Lane& lane, const ConvGeometry& geometry, ConvTarget target) {
  const std::shared_ptr<Storage> answer = allocate_in_pool(lane, 0);
  const detail::OpView views[] = {one_row(*answer, 0, 2, DType::int32)};
  if (!lane.run_native("convolution_workspace", views, geometry.parameters(target))) return std::nullopt;
  std::array<std::uint32_t, 2> halves;
  std::memcpy(halves.data(), answer->host, sizeof halves);
  return halves[0] | std::uint64_t{halves[1]} << 32U;
}

Tensor record_conv(ConvTarget target, const std::shared_ptr<const ConvGeometry>& geometry, const Tensor& a,
                   const Tensor& b, const std::source_location& where);

// Computes one array of a convolution. Its inputs are the other two, in the order input, weights, output.
class Convolution final : public Primitive {
 public:
  Convolution(ConvTarget target, std::shared_ptr<const ConvGeometry> geometry)
      : target_(target), geometry_(std::move(geometry)) {}
  [[nodiscard]] std::string_view name() const noexcept override {
    return conv_names[static_cast<std::size_t>(target_)];
  }

  void compute(Node& node) const override {
    const PooledElements first(*node.inputs[0].node());
    const PooledElements second(*node.inputs[1].node());
    const std::optional<std::uint64_t> bytes = workspace_of(*node.lane, *geometry_, target_);
    if (!bytes) throw_unsupported();
    const std::shared_ptr<Storage> workspace = allocate_in_pool(*node.lane, *bytes);
    const std::shared_ptr<Storage> result =
        allocate_in_pool(*node.lane, static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
    const auto view_of = [&](const PooledElements& elements, std::size_t input) {
      return one_row(*elements.storage, elements.offset, node.inputs[input].elements(), node.type);
    };
    const auto workspace_bytes = static_cast<std::int64_t>(std::max<std::uint64_t>(*bytes, 1));
    std::vector<detail::OpView> views = {view_of(first, 0), view_of(second, 1),
                                         one_row(*workspace, 0, workspace_bytes, DType::int8)};
    views.insert(views.begin() + position(), one_row(*result, 0, node.elements(), node.type));
    if (!node.lane->run_native("convolution", views, geometry_->parameters(target_))) throw_unsupported();
    node.storage = result;
  }
  void dry_run(Node& node, DryRun& run) const override {
    const std::shared_ptr<Storage> first = pooled_copy(run, *node.inputs[0].node());
    const std::shared_ptr<Storage> second = pooled_copy(run, *node.inputs[1].node());
    const std::optional<std::uint64_t> bytes = workspace_of(*node.lane, *geometry_, target_);
    if (!bytes) throw_unsupported();
    const std::shared_ptr<Storage> workspace = workspace_in_pool(run, *node.lane, *bytes);
    run.allocate(node);
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    const auto make = [&](ConvTarget target, const Tensor& a, const Tensor& b) {
      return record_conv(target, geometry_, a, b, {});
    };
    const Tensor& a = inputs[0];
    const Tensor& b = inputs[1];
    switch (target_) {
      case ConvTarget::output:
        return {make(ConvTarget::input, b, adjoint), make(ConvTarget::weights, a, adjoint)};
      case ConvTarget::input:
        return {make(ConvTarget::weights, adjoint, b), make(ConvTarget::output, adjoint, a)};
      case ConvTarget::weights:
        return {make(ConvTarget::input, adjoint, b), make(ConvTarget::output, a, adjoint)};
    }
    return {};
  }

 private:
  // Of the result among input, weights and output.
  [[nodiscard]] std::ptrdiff_t position() const noexcept {
    if (target_ == ConvTarget::output) return 2;
    return target_ == ConvTarget::input ? 0 : 1;
  }
  [[noreturn]] void throw_unsupported() const {
    throw Error(
        ErrorCode::unsupported, name(),
        "oneDNN does not compute this part of a convolution; set backends.cpu.onednn=off to compute without it");
  }

  ConvTarget target_;
  std::shared_ptr<const ConvGeometry> geometry_;
};

Tensor record_conv(ConvTarget target, const std::shared_ptr<const ConvGeometry>& geometry, const Tensor& a,
                   const Tensor& b, const std::source_location& where) {
  return record(std::make_shared<Convolution>(target, geometry), {a, b}, geometry->type, geometry->shape_of(target),
                where);
}

}  // namespace

std::optional<Tensor> convolve_natively(const Tensor& x, const Tensor& weights, const ConvRule& rule,
                                        const std::source_location& where) {
  Lane& lane = *x.node()->lane;
  const DType type = x.dtype();
  const bool has_type = type == DType::float32 || type == DType::float16 || type == DType::bfloat16;
  if (!lane.is_host() || !has_type || x.elements() == 0 || weights.elements() == 0) return std::nullopt;
  if (std::ranges::any_of(rule.padding, [](std::int64_t width) { return width < 0 || width > number_max; })) {
    return std::nullopt;
  }
  Shape padded;
  for (std::size_t i = 0; i < rule.padding.rank(); ++i) padded.push_back(x.shape()[2 + i] + 2 * rule.padding[i]);
  const Shape positions = window_positions("conv", padded, 2, rule.windows);
  const auto try_type = [&](DType used) -> std::optional<Tensor> {
    const Tensor input = x.astype(used);
    const Tensor filter = weights.astype(used);
    const auto geometry = std::make_shared<const ConvGeometry>(input, filter, rule, positions);
    check_shape("conv", geometry->output, used);
    const bool is_small = std::ranges::all_of(geometry->numbers, [](std::int64_t n) { return n <= number_max; });
    if (!is_small || !workspace_of(lane, *geometry, ConvTarget::output)) return std::nullopt;
    return record_conv(ConvTarget::output, geometry, input, filter, where).astype(type);
  };
  if (type == DType::bfloat16) {
    if (std::optional<Tensor> result = try_type(type)) return result;
  }
  return try_type(DType::float32);  // 16 bits are rounded from it
}

}  // namespace vectis::inline v0_1::array
