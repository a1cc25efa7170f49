// Reductions over axes: sum, prod, max, min, argmax, argmin, and the functions made of them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "array/around_axis.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/reduce_on_device.hpp"
#include "array/row_kernels.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

constexpr std::string_view names[] = {"sum", "prod", "max", "min", "argmax", "argmin"};

// The type in which means and the like of `type` are computed: 16 bits would overflow or round in between.
DType widened(DType type) { return type == DType::float64 ? type : DType::float32; }

// --- Kernels on the CPU ---------------------------------------------------------------------------------------------
// Elements are reduced in wide arithmetic (double or 64-bit integers), in chunks whose size does not depend on the
// number of threads, so that neither does the result.

constexpr std::int64_t chunk = 1 << 14;    // elements of a row that are reduced together
constexpr std::int64_t columns_max = 512;  // columns that are reduced together
constexpr std::size_t lanes = 16;          // independent sums, which the compiler vectorizes

// Partial results of a reduction. `position` is used by argmax and argmin.
template <class Wide>
struct Partial {
  Wide value;
  std::int64_t position = 0;
};

template <Reduction how, class Wide>
Wide initial() {
  if constexpr (how == Reduction::sum) return Wide{0};
  if constexpr (how == Reduction::prod) return Wide{1};
  constexpr bool largest = how == Reduction::max || how == Reduction::argmax;
  if constexpr (std::is_floating_point_v<Wide>) {
    return largest ? -std::numeric_limits<Wide>::infinity() : std::numeric_limits<Wide>::infinity();
  } else {
    return largest ? std::numeric_limits<Wide>::min() : std::numeric_limits<Wide>::max();
  }
}

template <Reduction how, class Wide>
Wide combined(Wide a, Wide b) {
  if constexpr (how == Reduction::sum) return added(a, b);
  if constexpr (how == Reduction::prod) return multiplied(a, b);
  if constexpr (how == Reduction::max || how == Reduction::argmax) return b > a || is_nan(b) ? (is_nan(a) ? a : b) : a;
  return b < a || is_nan(b) ? (is_nan(a) ? a : b) : a;
}

// Whether `b`, which comes later, replaces `a` as extremum.
template <Reduction how, class Wide>
bool replaces(Wide a, Wide b) {
  if (is_nan(a)) return false;
  if (is_nan(b)) return true;
  return how == Reduction::argmax ? b > a : b < a;
}

template <Reduction how, class Wide>
Partial<Wide> reduce_values(const Wide* values, std::int64_t count, std::int64_t first) {
  if constexpr (how == Reduction::argmax || how == Reduction::argmin) {
    Partial<Wide> best{values[0], first};
    for (std::int64_t i = 1; i < count; ++i) {
      if (replaces<how>(best.value, values[i])) best = {values[i], first + i};
    }
    return best;
  } else {
    Wide sums[lanes];
    std::fill_n(sums, lanes, initial<how, Wide>());
    const auto size = static_cast<std::size_t>(count);
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] = combined<how>(sums[lane], values[i + lane]);
    }
    for (; i < size; ++i) sums[0] = combined<how>(sums[0], values[i]);
    for (std::size_t lane = 1; lane < lanes; ++lane) sums[0] = combined<how>(sums[0], sums[lane]);
    return {sums[0]};
  }
}

template <Reduction how, class Wide>
void merge(Partial<Wide>& into, const Partial<Wide>& later) {
  if constexpr (how == Reduction::argmax || how == Reduction::argmin) {
    if (replaces<how>(into.value, later.value)) into = later;
  } else {
    into.value = combined<how>(into.value, later.value);
  }
}

// The operand around the reduced axes, without gaps.
struct Blocks : AroundAxis {
  const std::byte* data = nullptr;
  DType type = DType::float32;
};

template <Reduction how, class Wide>
void store(Node& node, std::int64_t at, const Partial<Wide>& result) {
  std::byte* const out = node.host_data() + at * static_cast<std::int64_t>(node.element_bytes());
  if constexpr (how == Reduction::argmax || how == Reduction::argmin) {
    store_wide(node.type, &result.position, 1, out);
  } else {
    store_wide(node.type, &result.value, 1, out);
  }
}

// Whether reduce_floats() has a kernel: float32 then needs no conversion to doubles in memory.
constexpr bool reduces_floats(Reduction how) {
  return how == Reduction::sum || how == Reduction::max || how == Reduction::min;
}
template <Reduction how>
double reduce_floats(const float* row, std::size_t count) {
  if constexpr (how == Reduction::sum) return sum_of_row(row, count);
  return how == Reduction::max ? max_of_row(row, count) : min_of_row(row, count);
}

// Reduces rows whose elements are adjacent.
template <Reduction how, class Wide>
void reduce_rows(const Blocks& x, Node& node) {
  const std::int64_t chunks = std::max<std::int64_t>(1, (x.extent + chunk - 1) / chunk);
  const auto bytes = static_cast<std::int64_t>(size_of(x.type));
  std::vector<Partial<Wide>> partial(static_cast<std::size_t>(x.outer * chunks));
  const auto reduce_chunks = [&](std::size_t begin, std::size_t end) {
    std::vector<Wide> values;
    FloatRows floats(x.type);
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / chunks;
      const std::int64_t first = static_cast<std::int64_t>(i) % chunks * chunk;
      const std::int64_t count = std::min(chunk, x.extent - first);
      const std::byte* const data = x.data + (row * x.extent + first) * bytes;
      if constexpr (std::is_floating_point_v<Wide> && reduces_floats(how)) {
        if (x.type != DType::float64) {
          const auto size = static_cast<std::size_t>(count);
          partial[i] = {reduce_floats<how>(floats.at(data, size), size)};
          continue;
        }
      }
      values.resize(static_cast<std::size_t>(std::min(chunk, x.extent)));
      load_wide(x.type, data, static_cast<std::size_t>(count), values.data());
      partial[i] = reduce_values<how>(values.data(), count, first);
    }
  };
  const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(1, chunk / std::min(chunk, x.extent)));
  node.lane->executor().parallel_for(partial.size(), grain, reduce_chunks);
  for (std::int64_t row = 0; row < x.outer; ++row) {
    Partial<Wide> result = partial[static_cast<std::size_t>(row * chunks)];
    for (std::int64_t i = 1; i < chunks; ++i) merge<how>(result, partial[static_cast<std::size_t>(row * chunks + i)]);
    store<how>(node, row, result);
  }
}

// Calls body(outer, first, count) for strips of adjacent columns.
template <class Body>
void for_each_strip(const Blocks& x, Node& node, const Body& body) {
  const std::int64_t strips = (x.inner + columns_max - 1) / columns_max;
  const std::int64_t work = std::max<std::int64_t>(1, x.extent * std::min(columns_max, x.inner));
  const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(1, chunk / work));
  node.lane->executor().parallel_for(
      static_cast<std::size_t>(x.outer * strips), grain, [&](std::size_t begin, std::size_t end) {
        for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
          const std::int64_t first = i % strips * columns_max;
          body(i / strips, first, static_cast<std::size_t>(std::min(columns_max, x.inner - first)));
        }
      });
}

// Reduces columns: elements that are adjacent belong to different results.
template <Reduction how, class Wide>
void reduce_columns(const Blocks& x, Node& node) {
  const auto bytes = static_cast<std::int64_t>(size_of(x.type));
  for_each_strip(x, node, [&](std::int64_t outer, std::int64_t first, std::size_t count) {
    std::vector<Wide> row(count);
    std::vector<Partial<Wide>> results(count);
    for (std::int64_t r = 0; r < x.extent; ++r) {
      load_wide(x.type, x.data + ((outer * x.extent + r) * x.inner + first) * bytes, count, row.data());
      for (std::size_t c = 0; c < count; ++c) {
        if (r == 0) {
          results[c] = {row[c], 0};
        } else {
          merge<how>(results[c], {row[c], r});
        }
      }
    }
    for (std::size_t c = 0; c < count; ++c) {
      store<how>(node, outer * x.inner + first + static_cast<std::int64_t>(c), results[c]);
    }
  });
}

// The same for sums of at most 32 bits.
void sum_columns(const Blocks& x, Node& node) {
  const auto bytes = static_cast<std::int64_t>(size_of(x.type));
  const std::int64_t together = x.type == DType::float32 ? x.extent : 1;
  for_each_strip(x, node, [&](std::int64_t outer, std::int64_t first, std::size_t count) {
    std::vector<double> sums(count, -0.0);  // which added to any number leaves it as it is
    FloatRows floats(x.type);
    for (std::int64_t row = 0; row < x.extent; row += together) {
      const float* const rows = floats.at(x.data + ((outer * x.extent + row) * x.inner + first) * bytes, count);
      add_rows(rows, static_cast<std::size_t>(x.inner), static_cast<std::size_t>(together), count, sums.data());
    }
    const std::int64_t at = outer * x.inner + first;
    store_wide(node.type, sums.data(), count, node.host_data() + at * static_cast<std::int64_t>(node.element_bytes()));
  });
}

template <Reduction how>
void reduce(const Blocks& x, Node& node) {
  const auto run = [&]<class Wide>(Wide /*of*/) {
    if (x.extent == 0) {
      for (std::int64_t i = 0; i < node.elements(); ++i) store<how>(node, i, Partial<Wide>{initial<how, Wide>()});
    } else if (x.inner == 1) {
      reduce_rows<how, Wide>(x, node);
    } else if (how == Reduction::sum && is_real(x.type) && x.type != DType::float64) {
      sum_columns(x, node);
    } else {
      reduce_columns<how, Wide>(x, node);
    }
  };
  return is_real(x.type) ? run(double{}) : run(std::int64_t{});
}

void reduce(Reduction how, const Blocks& x, Node& node) {
  switch (how) {
    case Reduction::sum:
      return reduce<Reduction::sum>(x, node);
    case Reduction::prod:
      return reduce<Reduction::prod>(x, node);
    case Reduction::max:
      return reduce<Reduction::max>(x, node);
    case Reduction::min:
      return reduce<Reduction::min>(x, node);
    case Reduction::argmax:
      return reduce<Reduction::argmax>(x, node);
    case Reduction::argmin:
      return reduce<Reduction::argmin>(x, node);
  }
}

// --- The primitive --------------------------------------------------------------------------------------------------

// Reduces the adjacent axes [first, last) of its input, which it removes.
class Reduce final : public Primitive {
 public:
  Reduce(Reduction how, std::size_t first, std::size_t last) : how_(how), first_(first), last_(last) {}
  [[nodiscard]] std::string_view name() const noexcept override { return names[static_cast<std::size_t>(how_)]; }

  void compute(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    std::shared_ptr<Storage> copy;
    reduce(how_, {{x.shape, first_, last_}, contiguous_data(x, copy), x.type}, node);
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override { reduce_on_device(how_, first_, last_, node); }
  void dry_run(Node& node, DryRun& run) const override {
    if (node.lane->is_host()) return Primitive::dry_run(node, run);
    dry_run_reduction(how_, first_, last_, node, run);
  }

  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const Tensor& x = inputs[0];
    if (is_argument(how_)) return {Tensor()};
    const Tensor spread = restored(adjoint, x);
    if (how_ == Reduction::sum) return {spread};
    const Tensor result = restored(output, x);
    if (how_ == Reduction::prod) return {prod_gradient(x, result, spread)};
    // Equal extrema share the gradient.
    const Tensor is_extremum = equal(x, result).astype(widened(x.dtype()));
    return {spread * is_extremum / restored(sum(is_extremum, axes()), x)};
  }

 private:
  // The reduced axes as a list.
  [[nodiscard]] Shape axes() const {
    Shape axes;
    for (std::size_t axis = first_; axis < last_; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
    return axes;
  }

  // A result with the axes of `x` again.
  [[nodiscard]] Tensor restored(const Tensor& result, const Tensor& x) const {
    Shape shape = x.shape();
    for (std::size_t axis = first_; axis < last_; ++axis) shape[axis] = 1;
    return broadcast_to(reshape(result, shape), x.shape());
  }

  // The product of the other elements, which is not product / x where x is 0.
  [[nodiscard]] Tensor prod_gradient(const Tensor& x, const Tensor& product, const Tensor& spread) const {
    const Tensor is_zero = equal(x, 0);
    const Tensor nonzero = where(is_zero, ones_like(x), x);
    const Tensor zeros_in_all = restored(sum(is_zero.astype(DType::int32), axes()), x);
    const Tensor others_of_zero =
        where(equal(zeros_in_all, 1), restored(array::prod(nonzero, axes()), x), zeros_like(x));
    return spread * where(is_zero, others_of_zero, product / nonzero);
  }

  Reduction how_;
  std::size_t first_;
  std::size_t last_;
};

Shape with_ones(Shape shape, const Shape& axes) {
  for (const std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

// Reduces any axes: those that are not adjacent are moved together first.
Tensor reduced(Reduction how, const Tensor& x, const Shape& axes, DType type, bool keep_dims,
               const std::source_location& where) {
  const std::string_view op = names[static_cast<std::size_t>(how)];
  const Shape sorted = checked_axes(op, axes, x.rank());
  std::int64_t elements = 1;
  for (const std::int64_t axis : sorted) elements *= x.shape()[static_cast<std::size_t>(axis)];
  if (elements == 0 && how != Reduction::sum && how != Reduction::prod) {
    throw_invalid(op, fmt::format("shape {} has no elements along the reduced axes, and no extremum; give some",
                                  to_string(x.shape())));
  }
  Tensor operand = x;
  std::size_t first = sorted.empty() ? 0 : static_cast<std::size_t>(sorted[0]);
  if (!sorted.empty() && sorted[sorted.rank() - 1] - sorted[0] + 1 != static_cast<std::int64_t>(sorted.rank())) {
    Shape order;
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(x.rank()); ++axis) {
      if (std::ranges::find(sorted, axis) == sorted.end()) order.push_back(axis);
    }
    first = order.rank();
    for (const std::int64_t axis : sorted) order.push_back(axis);
    operand = permute_dims(Operand(x, where), order);
  }
  Shape shape;
  for (std::size_t axis = 0; axis < operand.rank(); ++axis) {
    if (axis < first || axis >= first + sorted.rank()) shape.push_back(operand.shape()[axis]);
  }
  const Tensor result =
      record(std::make_shared<Reduce>(how, first, first + sorted.rank()), {operand}, type, std::move(shape), where);
  return keep_dims ? reshape(Operand(result, where), with_ones(x.shape(), sorted)) : result;
}

// The type of sums and products: small integers are counted in int32.
DType accumulated(DType type) { return is_real(type) || type == DType::int64 ? type : DType::int32; }

// The number of elements that `op` reduces together.
double count_of(std::string_view op, const Tensor& x, const Shape& axes) {
  double count = 1;
  for (const std::int64_t axis : checked_axes(op, axes, x.rank())) {
    count *= static_cast<double>(x.shape()[static_cast<std::size_t>(axis)]);
  }
  return count;
}

// Applies a function of real numbers in at least float32, and converts its result to the type of `x` if that is real.
// Wrong axes are reported in the name of `op`, not of the reductions that the function is made of.
template <class F>
Tensor in_wide_type(std::string_view op, const Operand& x, const Shape& axes, const F& function) {
  const Tensor& tensor = as_tensor(op, x);
  (void)checked_axes(op, axes, tensor.rank());
  const DType type = is_real(tensor.dtype()) ? tensor.dtype() : DType::float32;
  return function(tensor.astype(widened(type))).astype(type);
}

// The square root, with the gradient 0 at 0.
Tensor root_of(const Tensor& x) {
  const Tensor is_zero = equal(x, 0);
  return where(is_zero, zeros_like(x), sqrt(where(is_zero, ones_like(x), x)));
}

// Throws InvalidInput when logsumexp has nothing to reduce.
void check_filled(std::string_view op, const Tensor& x, const Shape& axes) {
  for (const std::int64_t axis : checked_axes(op, axes, x.rank())) {
    if (x.shape()[static_cast<std::size_t>(axis)] != 0) continue;
    throw_invalid(op, fmt::format("axis {} of shape {} has no elements; give some", axis, to_string(x.shape())));
  }
}

Tensor truth_reduced(Reduction how, std::string_view op, const Operand& x, const Shape& axes, bool keep_dims) {
  const Tensor truth = as_tensor(op, x).astype(DType::boolean);
  (void)checked_axes(op, axes, truth.rank());
  if (truth.elements() == 0) {  // all of nothing is true, any of nothing is false
    return full_like(sum(truth, axes, keep_dims).astype(DType::boolean), how == Reduction::min);
  }
  return reduced(how, truth, axes, DType::boolean, keep_dims, x.where());
}

Tensor argument_reduced(Reduction how, const Operand& x, const std::optional<std::int64_t>& axis, bool keep_dims) {
  const Tensor& tensor = as_tensor(names[static_cast<std::size_t>(how)], x);
  const Tensor along = axis ? tensor : flatten(x);
  if (const std::int64_t extent = along.extent(axis.value_or(0)); extent > std::numeric_limits<std::int32_t>::max()) {
    throw_invalid(names[static_cast<std::size_t>(how)],
                  fmt::format("{} elements, more than positions of 32 bits can name; reduce in parts", extent));
  }
  const Tensor index = reduced(how, along, {axis.value_or(0)}, DType::int32, axis && keep_dims, x.where());
  return !axis && keep_dims ? reshape(index, Shape(tensor.rank(), 1)) : index;
}

}  // namespace

Tensor sum(const Operand& x, const Shape& axes, bool keep_dims) {
  const Tensor& tensor = as_tensor("sum", x);
  return reduced(Reduction::sum, tensor, axes, accumulated(tensor.dtype()), keep_dims, x.where());
}
Tensor prod(const Operand& x, const Shape& axes, bool keep_dims) {
  const Tensor& tensor = as_tensor("prod", x);
  return reduced(Reduction::prod, tensor, axes, accumulated(tensor.dtype()), keep_dims, x.where());
}
Tensor max(const Operand& x, const Shape& axes, bool keep_dims) {
  const Tensor& tensor = as_tensor("max", x);
  return reduced(Reduction::max, tensor, axes, tensor.dtype(), keep_dims, x.where());
}
Tensor min(const Operand& x, const Shape& axes, bool keep_dims) {
  const Tensor& tensor = as_tensor("min", x);
  return reduced(Reduction::min, tensor, axes, tensor.dtype(), keep_dims, x.where());
}
Tensor argmax(const Operand& x, std::optional<std::int64_t> axis, bool keep_dims) {
  return argument_reduced(Reduction::argmax, x, axis, keep_dims);
}
Tensor argmin(const Operand& x, std::optional<std::int64_t> axis, bool keep_dims) {
  return argument_reduced(Reduction::argmin, x, axis, keep_dims);
}
Tensor all(const Operand& x, const Shape& axes, bool keep_dims) {
  return truth_reduced(Reduction::min, "all", x, axes, keep_dims);
}
Tensor any(const Operand& x, const Shape& axes, bool keep_dims) {
  return truth_reduced(Reduction::max, "any", x, axes, keep_dims);
}
Tensor count_nonzero(const Operand& x, const Shape& axes, bool keep_dims) {
  const Tensor truth = as_tensor("count_nonzero", x).astype(DType::boolean);
  if (const double count = count_of("count_nonzero", truth, axes); count > std::numeric_limits<std::int32_t>::max()) {
    throw_invalid("count_nonzero",
                  fmt::format("{} elements, more than numbers of 32 bits can count; reduce in parts", count));
  }
  return sum(truth, axes, keep_dims);
}

Tensor mean(const Operand& x, const Shape& axes, bool keep_dims) {
  return in_wide_type("mean", x, axes, [&](const Tensor& wide) {
    return sum(Operand(wide, x.where()), axes, keep_dims) / count_of("mean", wide, axes);
  });
}

Tensor var(const Operand& x, const Shape& axes, double correction, bool keep_dims) {
  return in_wide_type("var", x, axes, [&](const Tensor& wide) {
    const Tensor distance = wide - mean(wide, axes, true);
    return sum(square(distance), axes, keep_dims) / std::max(0.0, count_of("var", wide, axes) - correction);
  });
}
Tensor stddev(const Operand& x, const Shape& axes, double correction, bool keep_dims) {
  return in_wide_type("stddev", x, axes,
                      [&](const Tensor& wide) { return root_of(var(wide, axes, correction, keep_dims)); });
}
Tensor norm(const Operand& x, const Shape& axes, bool keep_dims) {
  return in_wide_type("norm", x, axes, [&](const Tensor& wide) { return root_of(sum(square(wide), axes, keep_dims)); });
}

Tensor logsumexp(const Operand& x, const Shape& axes, bool keep_dims) {
  return in_wide_type("logsumexp", x, axes, [&](const Tensor& wide) {
    check_filled("logsumexp", wide, axes);
    // Infinite maxima are not subtracted: inf - inf is NaN.
    const Tensor largest = stop_gradient(max(wide, axes, true));
    const Tensor shift = where(isfinite(largest), largest, zeros_like(largest));
    const Tensor result = log(sum(exp(wide - shift), axes, true)) + shift;
    const Shape sorted = checked_axes("logsumexp", axes, wide.rank());
    return keep_dims || sorted.empty() ? result : squeeze(result, sorted);
  });
}

}  // namespace vectis::inline v0_1::array
