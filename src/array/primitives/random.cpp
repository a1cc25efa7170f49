// Random numbers by counter.

#include "vectis/array/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "array/device_kernel.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr double unit = 0x1p-24;
constexpr std::int32_t low_24_bits = 0xffffff;
constexpr std::size_t draws_per_task_min = 1 << 14;

// Two keys of 32 bits for each seed, draw and block of 2^32 elements: one alone would repeat after some 65,000 draws.
struct Keys {
  Keys(std::uint64_t seed, std::uint64_t draw, std::uint64_t block) : first(1), second(2) {
    for (const std::uint64_t number : {seed, draw, block}) {
      for (const std::uint64_t half : {number, number >> 32U}) {
        first = ir::random_u32(first, static_cast<std::uint32_t>(half) ^ second);
        second = ir::random_u32(second, static_cast<std::uint32_t>(half) + first);
      }
    }
  }
  [[nodiscard]] std::uint32_t bits(std::uint32_t position) const {
    return ir::random_u32(second, ir::random_u32(first, position) ^ first);
  }

  std::uint32_t first;
  std::uint32_t second;
};

// The largest number of a type below `high`.
double below(double high, DType type) {
  if (type == DType::float64) return std::nextafter(high, -std::numeric_limits<double>::infinity());
  const auto rounded = static_cast<float>(high);
  if (type == DType::float32) {
    return rounded < high ? rounded : std::nextafter(rounded, -std::numeric_limits<float>::infinity());
  }
  const auto down = [&](auto bits, const auto& value_of) {
    if (value_of(bits) < high) return double{value_of(bits)};
    if ((bits & 0x7fffU) == 0) return double{value_of(0x8001)};
    return double{value_of(static_cast<std::uint16_t>((bits & 0x8000U) != 0 ? bits + 1 : bits - 1))};
  };
  return type == DType::float16
             ? down(to_half(rounded).bits, [](std::uint16_t bits) { return to_float(Half{bits}); })
             : down(to_bfloat16(rounded).bits, [](std::uint16_t bits) { return to_float(Bfloat16{bits}); });
}

// Bits of a draw.
class RandomBits final : public Primitive {
 public:
  RandomBits(std::uint64_t seed, std::uint64_t draw) : seed_(seed), draw_(draw) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_bits"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    auto* const out = reinterpret_cast<std::uint32_t*>(node.host_data());
    const auto fill = [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end;) {
        const std::uint64_t block = at >> 32U;
        const std::size_t stop = std::min<std::uint64_t>(end, (block + 1) << 32U);
        const Keys keys(seed_, draw_, block);
        for (; at < stop; ++at) out[at] = keys.bits(static_cast<std::uint32_t>(at));
      }
    };
    node.lane->executor().parallel_for(static_cast<std::size_t>(node.elements()), draws_per_task_min, fill);
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    node.lane->allocate(node);
    const Keys keys(seed_, draw_, 0);  // kernels address less than a block
    DeviceKernel kernel("random_bits");
    ir::Builder& code = kernel.code();
    const ir::Value first = kernel.number(keys.first);
    const ir::Value mixed = code.binary(ir::Op::bit_xor, code.random(first, kernel.index()), first);
    const ir::Value bits = code.random(kernel.number(keys.second), mixed);
    kernel.store(code.bitcast(bits, DType::int32), DType::int32, node.storage);
    kernel.run(*node.lane, node.elements());
  }
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor&) const override {
    return std::vector<Tensor>(inputs.size());
  }

 private:
  std::uint64_t seed_;
  std::uint64_t draw_;
};

void check_real(std::string_view op, DType type) {
  if (!is_real(type)) {
    throw_invalid(op, fmt::format("{} cannot hold fractions; choose a floating-point type", vectis::name(type)));
  }
}

// The type in which fractions are computed: 16 bits are rounded at the end.
DType computed_type(DType type) { return type == DType::float64 ? type : DType::float32; }

// The highest 24 bits as a number of [0, 2^24).
Tensor high_bits(const Tensor& bits) { return bitwise_and(right_shift(bits, 8), low_24_bits); }

}  // namespace

Tensor Generator::bits(const Shape& shape) {
  check_shape("random", shape, DType::int32);
  auto node = std::make_shared<Node>(lane_for(options_), DType::int32, shape);
  node->primitive = std::make_shared<RandomBits>(seed_, draws_++);
  node->number = node->lane->engine().next_number();
  node->pending = 1;
  return Tensor(std::move(node));
}

Tensor Generator::uniform(const Shape& shape, double low, double high, DType type) {
  check_real("uniform", type);
  const DType wide = computed_type(type);
  const double distance_max =
      wide == DType::float64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
  if (!(low <= high && high - low <= distance_max)) {
    throw_invalid("uniform", fmt::format("range {} to {} of {}; give low <= high, at most {:.2g} apart", low, high,
                                         vectis::name(type), distance_max));
  }
  const Tensor number = high_bits(bits(shape)).astype(wide);
  const Tensor values = (number * ((high - low) * unit) + low).astype(type);
  return low == high ? values : minimum(values, below(high, type));
}

Tensor Generator::normal(const Shape& shape, double mean, double deviation, DType type) {
  check_real("normal", type);
  const DType wide = computed_type(type);
  // The first number is not 0, whose logarithm is infinite.
  const Tensor radius = (high_bits(bits(shape)).astype(wide) + 0.5) * unit;
  const Tensor angle = high_bits(bits(shape)).astype(wide) * (2 * std::numbers::pi * unit);
  return (sqrt(log(radius) * -2) * cos(angle) * deviation + mean).astype(type);
}

Tensor Generator::integers(const Shape& shape, std::int64_t low, std::int64_t high, DType type) {
  const std::uint64_t distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (low >= high || distance > (std::uint64_t{1} << 31U)) {
    throw_invalid("integers", fmt::format("range {} to {}; give low < high, at most 2^31 apart", low, high));
  }
  if (is_real(type) || type == DType::boolean) {
    throw_invalid("integers", fmt::format("{} is no integer type; choose int32 or another", vectis::name(type)));
  }
  // 31 bits, which every device divides.
  const Tensor positive = bitwise_and(right_shift(bits(shape), 1), std::numeric_limits<std::int32_t>::max());
  const bool is_whole = distance == (std::uint64_t{1} << 31U);
  const Tensor above = is_whole ? positive : remainder(positive, static_cast<std::int64_t>(distance));
  return (above.astype(type == DType::int64 ? type : DType::int32) + low).astype(type);
}

Tensor Generator::bernoulli(const Shape& shape, double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    throw_invalid("bernoulli", fmt::format("probability {}; give 0 to 1", probability));
  }
  return less(high_bits(bits(shape)), static_cast<std::int64_t>(std::ceil(probability / unit)));
}

Tensor Generator::permutation(std::int64_t count) { return argsort(bits({count})); }

}  // namespace vectis::inline v0_1::array
