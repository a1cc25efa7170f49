// Products of matrices.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "array/device_kernel.hpp"
#include "array/double_product.hpp"
#include "array/dry_run.hpp"
#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The kernel layer multiplies these types.
bool has_kernel(DType type) { return type == DType::float32 || type == DType::float16 || type == DType::bfloat16; }

// Products of fewer multiply-adds are computed here: the call of the kernel layer takes longer.
constexpr std::int64_t small_product = 4096;

// More matrices than this of at most so many multiply-adds each are multiplied by one launch of a simple kernel.
constexpr std::int64_t batch_max = 8;
constexpr std::int64_t batched_work_max = 1 << 18;

// A factor, [batch..., rows, columns], in memory that the kernel layer takes: rows or columns without gaps.
class Factor {
 public:
  explicit Factor(const Node& node) : node_(node), strides_(node.all_strides()), storage_(node.storage) {
    const Order order = order_of(node, strides_);
    is_transposed_ = order == Order::columns;
    offset_ = node.offset;
    if (order != Order::other && storage_->buffer) return;
    const DeviceElements copy = node.lane->is_host() ? on_host() : contiguous_on_device(node);
    storage_ = copy.storage;
    offset_ = copy.offset;
    strides_ = contiguous_strides(node.shape);
    is_transposed_ = false;
  }

  // Returns the copy that a Factor of `node` makes, in a dry run; null: none.
  static std::shared_ptr<Storage> dry_copy(const Node& node, DryRun& run) {
    if (order_of(node, node.all_strides()) != Order::other && is_in_pool(*node.storage)) return nullptr;
    const auto bytes = static_cast<std::uint64_t>(node.elements()) * node.element_bytes();
    return run.workspace(*node.lane, std::max<std::uint64_t>(bytes, Storage::inline_bytes + 1));
  }

  [[nodiscard]] bool is_transposed() const { return is_transposed_; }
  // The view of matrix `number` of the batch.
  [[nodiscard]] View view(std::int64_t number) const {
    const std::size_t rank = node_.shape.rank();
    const auto rows = static_cast<std::uint64_t>(node_.shape[rank - (is_transposed_ ? 1 : 2)]);
    const auto columns = static_cast<std::uint64_t>(node_.shape[rank - (is_transposed_ ? 2 : 1)]);
    const std::int64_t stride = strides_[rank - (is_transposed_ ? 1 : 2)];
    return {storage_->buffer.memory(),
            node_.type,
            rows,
            columns,
            static_cast<std::uint64_t>(offset_of(number)),
            static_cast<std::uint64_t>(std::max(stride, static_cast<std::int64_t>(columns)))};
  }

 private:
  // What stands without gaps in memory.
  enum class Order : std::uint8_t { rows, columns, other };
  static Order order_of(const Node& node, const Shape& strides) {
    const std::size_t rank = node.shape.rank();
    const std::int64_t row = strides[rank - 2];
    const std::int64_t column = strides[rank - 1];
    if (column == 1 && row >= node.shape[rank - 1]) return Order::rows;
    return row == 1 && column >= node.shape[rank - 2] ? Order::columns : Order::other;
  }

  // A copy without gaps in memory of the pool.
  [[nodiscard]] DeviceElements on_host() const {
    std::shared_ptr<Storage> copy;
    const std::byte* const data = contiguous_data(node_, copy);
    if (copy != nullptr && copy->buffer) return {copy};
    const auto bytes = static_cast<std::size_t>(node_.elements()) * node_.element_bytes();
    // Beyond what is stored inline, so that it comes from the pool.
    std::shared_ptr<Storage> storage = node_.lane->allocate(std::max(bytes, Storage::inline_bytes + 1));
    std::memcpy(storage->host, data, bytes);
    return {storage};
  }
  [[nodiscard]] std::int64_t offset_of(std::int64_t number) const {
    std::int64_t offset = offset_;
    for (std::size_t axis = node_.shape.rank() - 2; axis-- > 0;) {
      offset += number % node_.shape[axis] * strides_[axis];
      number /= node_.shape[axis];
    }
    return offset;
  }

  const Node& node_;
  Shape strides_;
  std::shared_ptr<Storage> storage_;
  std::int64_t offset_ = 0;
  bool is_transposed_ = false;
};

// [batch, m, k] times [batch, k, n] without gaps, in double precision or 64-bit integers: rows of the second factor are
// added up.
template <class Wide>
void multiply_wide(const Node& a, const Node& b, Node& node) {
  const std::size_t rank = node.shape.rank();
  const std::int64_t m = a.shape[rank - 2];
  const std::int64_t k = a.shape[rank - 1];
  const std::int64_t n = b.shape[rank - 1];
  std::shared_ptr<Storage> keep_a;
  const std::byte* const from_a = contiguous_data(a, keep_a);
  const std::vector<Wide> wide_b = wide_values<Wide>(b);
  const std::int64_t rows = node.elements() / std::max<std::int64_t>(n, 1);
  const auto multiply_rows = [&](std::size_t begin, std::size_t end) {
    std::vector<Wide> factors(static_cast<std::size_t>(k));
    std::vector<Wide> sums(static_cast<std::size_t>(n));
    for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end); ++row) {
      load_wide(a.type, from_a + row * k * static_cast<std::int64_t>(a.element_bytes()), factors.size(),
                factors.data());
      std::ranges::fill(sums, Wide{0});
      const Wide* other = wide_b.data() + row / m * k * n;
      for (const Wide factor : factors) {
        for (std::size_t column = 0; column < sums.size(); ++column) {
          sums[column] = added(sums[column], multiplied(factor, other[column]));
        }
        other += n;
      }
      store_wide(node.type, sums.data(), sums.size(),
                 node.host_data() + row * n * static_cast<std::int64_t>(node.element_bytes()));
    }
  };
  constexpr std::int64_t work_per_task_min = 1 << 16;
  const auto grain =
      static_cast<std::size_t>(std::max<std::int64_t>(1, work_per_task_min / std::max<std::int64_t>(1, k * n)));
  node.lane->executor().parallel_for(static_cast<std::size_t>(rows), grain, multiply_rows);
}

void multiply_as_doubles(const Node& a, const Node& b, Node& node) {
  const std::size_t rank = node.shape.rank();
  const auto m = static_cast<std::size_t>(a.shape[rank - 2]);
  const auto k = static_cast<std::size_t>(a.shape[rank - 1]);
  const auto n = static_cast<std::size_t>(b.shape[rank - 1]);
  std::shared_ptr<Storage> keep_a;
  std::shared_ptr<Storage> keep_b;
  const auto* const left = reinterpret_cast<const double*>(contiguous_data(a, keep_a));
  const auto* const right = reinterpret_cast<const double*>(contiguous_data(b, keep_b));
  const std::size_t count = static_cast<std::size_t>(node.elements()) / (m * n);
  for (std::size_t i = 0; i < count; ++i) {
    multiply_doubles(node.lane->executor(), left + i * m * k, right + i * k * n, m, k, n,
                     node.data<double>() + i * m * n);
  }
}

bool is_transposed(const Tensor& x) {
  const auto lock = x.node()->lane->engine().lock_nodes();
  const Primitive* const primitive = x.node()->primitive.get();
  return primitive != nullptr && primitive->is_transposition();
}

// The product a b, which is the gradient of `factor`. That of a transposed matrix is computed transposed, so that the
// gradient of the matrix itself has no gaps: optimizers read it faster.
Tensor gradient_like(const Tensor& factor, const Tensor& a, const Tensor& b) {
  if (!is_transposed(factor)) return matmul(a, b);
  return matrix_transpose(matmul(matrix_transpose(b), matrix_transpose(a)));
}

class Matmul final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "matmul"; }
  [[nodiscard]] double operations(const Node& node) const override {
    return 2.0 * static_cast<double>(node.elements()) * static_cast<double>(node.inputs[0].extent(-1));
  }

  void compute(Node& node) const override {
    const Node& a = *node.inputs[0].node();
    const Node& b = *node.inputs[1].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    const std::int64_t k = a.shape[a.shape.rank() - 1];
    if (k == 0) {
      std::memset(node.host_data(), 0, static_cast<std::size_t>(node.elements()) * node.element_bytes());
    } else if (uses_kernel(node)) {
      if (node.type == DType::float32) {
        multiply(a, b, node, *node.storage);
      } else {
        multiply_rounded(a, b, node);
      }
    } else if (node.type == DType::float64 && node.elements() * k > small_product) {
      multiply_as_doubles(a, b, node);
    } else if (is_real(node.type)) {
      multiply_wide<double>(a, b, node);
    } else {
      multiply_wide<std::int64_t>(a, b, node);
    }
  }

  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    const Node& a = *node.inputs[0].node();
    const Node& b = *node.inputs[1].node();
    if (node.elements() == 0) return node.lane->allocate(node);
    if (is_one_kernel(node)) return multiply_on_device(a, b, node);
    const std::shared_ptr<Storage> product =
        node.lane->allocate(static_cast<std::uint64_t>(node.elements()) * sizeof(float));
    multiply(a, b, node, *product);
    if (node.type == DType::float32) {
      node.storage = product;
    } else {
      store_converted(product, DType::float32, node);
    }
  }

  void dry_run(Node& node, DryRun& run) const override {
    const bool is_host = node.lane->is_host();
    const bool is_by_device = !is_host && node.elements() != 0 && !is_one_kernel(node);
    const bool is_converted = is_by_device && node.type != DType::float32;
    std::vector<std::shared_ptr<Storage>> kept;
    if (is_converted) {
      kept.push_back(run.workspace(*node.lane, static_cast<std::uint64_t>(node.elements()) * sizeof(float)));
    } else {
      run.allocate(node);
    }
    const bool has_factors = is_by_device || (is_host && node.elements() != 0 && uses_kernel(node));
    for (const Tensor& input : node.inputs) {
      if (has_factors) kept.push_back(Factor::dry_copy(*input.node(), run));
      if (is_host && !has_factors) kept.push_back(run.copy_unless_contiguous(*input.node()));
    }
    if (!is_converted) return;
    kept.resize(1);  // the factors are not needed for the conversion
    run.allocate(node);
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    return {gradient_like(inputs[0], adjoint, matrix_transpose(inputs[1])),
            gradient_like(inputs[1], matrix_transpose(inputs[0]), adjoint)};
  }

 private:
  // Whether the CPU computes the product by the kernel layer.
  static bool uses_kernel(const Node& node) {
    const std::int64_t k = node.inputs[0].extent(-1);
    return k != 0 && has_kernel(node.type) && node.elements() > small_product / k && is_in_pool(*node.storage);
  }
  // Whether a device other than the CPU computes the product, which has elements, by multiply_on_device().
  static bool is_one_kernel(const Node& node) {
    const std::size_t rank = node.shape.rank();
    const std::int64_t k = node.inputs[0].extent(-1);
    if (k == 0 || !has_kernel(node.type)) return true;
    const std::int64_t matrix = node.shape[rank - 2] * node.shape[rank - 1];
    return node.elements() / matrix > batch_max && matrix <= batched_work_max / k;
  }
  // Many small matrices, and types that the kernel layer does not multiply: each element is one sum.
  static void multiply_on_device(const Node& a, const Node& b, Node& node) {
    const std::size_t rank = node.shape.rank();
    node.lane->allocate(node);
    DeviceKernel kernel("matmul");
    ir::Builder& code = kernel.code();
    const DeviceKernel::Array left = kernel.array(a);
    const DeviceKernel::Array right = kernel.array(b);
    const ir::Value rows = kernel.number(node.shape[rank - 2]);
    const ir::Value columns = kernel.number(node.shape[rank - 1]);
    const ir::Value terms = kernel.number(a.shape[rank - 1]);
    const DeviceKernel::Position at = kernel.split(kernel.index(), rows, columns);
    const auto loop = code.begin_loop(terms, std::array{zero(code, node.type)});
    const ir::Value x = kernel.load(left, kernel.join({at.outer, at.along, loop.iteration}, rows, terms));
    const ir::Value y = kernel.load(right, kernel.join({at.outer, loop.iteration, at.inner}, terms, columns));
    const ir::Value sum = code.end_loop(loop, std::array{code.add(loop.carried[0], code.mul(x, y))})[0];
    kernel.store(narrowed(code, sum, node.type), node.type, node.storage);
    kernel.run(*node.lane, node.elements());
  }

  // Calls `run(a, b, c, parameters)` for the matrices of the batch, with the views of a matrix and of its part of
  // `product`.
  template <class Run>
  static void for_matrices(const Node& a, const Node& b, const Node& node, const Storage& product, DType type,
                           const Run& run) {
    const std::size_t rank = node.shape.rank();
    const auto m = static_cast<std::uint64_t>(node.shape[rank - 2]);
    const auto n = static_cast<std::uint64_t>(node.shape[rank - 1]);
    const Factor left(a);
    const Factor right(b);
    const std::int64_t count = node.elements() / static_cast<std::int64_t>(m * n);
    const ParameterValue parameters[] = {int{left.is_transposed()}, int{right.is_transposed()}};
    for (std::int64_t i = 0; i < count; ++i) {
      const View views[] = {left.view(i), right.view(i),
                            View(product.buffer.memory(), type, m, n, static_cast<std::uint64_t>(i) * m * n, n)};
      run(views, parameters);
    }
  }

  // Multiplies all matrices of the batch by the kernel layer, into float32.
  static void multiply(const Node& a, const Node& b, const Node& node, const Storage& product) {
    for_matrices(a, b, node, product, DType::float32, [&](const auto& views, const auto& parameters) {
      node.lane->run_operation("matmul", views, parameters);
    });
  }

  // The CPU's backend rounds products of 16 bits, which the kernel layer would write as float32.
  static void multiply_rounded(const Node& a, const Node& b, const Node& node) {
    for_matrices(a, b, node, *node.storage, node.type, [&](const auto& views, const auto& parameters) {
      std::array<detail::OpView, 3> operands;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const View& view = views[i];
        operands[i] = {&view.memory, view.offset, view.rows, view.columns, view.stride, view.type};
      }
      const VectisNumber numbers[] = {{parameters[0].integer, 0}, {parameters[1].integer, 0}};
      if (!node.lane->run_native("matmul", operands, numbers)) {
        throw Error(ErrorCode::unsupported, "matmul",
                    "the CPU's backend does not multiply 16 bits; convert to float32");
      }
    });
  }
};

const Matmul matmul_primitive;

}  // namespace

Tensor matmul(const Operand& a, const Operand& b) {
  const Tensor& first = as_tensor("matmul", a);
  const Tensor& second = as_tensor("matmul", b);
  check_devices("matmul", first, second);
  const auto throw_shapes = [&](std::string_view why) {
    throw_invalid("matmul", fmt::format("shapes {} and {} do not fit: {}", to_string(first.shape()),
                                        to_string(second.shape()), why));
  };
  if (first.rank() == 0 || second.rank() == 0) throw_shapes("one is a scalar; multiply by * instead");
  const DType type = promote(first.dtype(), second.dtype());
  if (type == DType::boolean) throw_invalid("matmul", "takes numbers, not bool; convert by astype(DType::int32)");
  Tensor left = first.astype(type);
  Tensor right = second.astype(type);
  if (left.rank() == 1) left = expand_dims(left, 0);
  if (right.rank() == 1) right = expand_dims(right, 1);
  if (left.extent(-1) != right.extent(-2)) {
    throw_shapes(fmt::format("the last extent of the first, {}, must be the last but one of the second, {}",
                             left.extent(-1), right.extent(-2)));
  }
  const auto batch_of = [](const Tensor& x) { return Shape(std::span(x.shape().begin(), x.rank() - 2)); };
  Shape shape = broadcast_shapes("matmul", batch_of(left), batch_of(right));
  const auto with_batch = [&](const Tensor& x) {
    Shape whole = shape;
    whole.push_back(x.extent(-2));
    whole.push_back(x.extent(-1));
    return broadcast(x, whole, a.where());
  };
  left = with_batch(left);
  right = with_batch(right);
  shape.push_back(left.extent(-2));
  shape.push_back(right.extent(-1));
  check_shape("matmul", shape, type);
  Shape result = shape;
  if (second.rank() == 1) result.erase(result.rank() - 1);
  if (first.rank() == 1) result.erase(result.rank() - (second.rank() == 1 ? 1 : 2));
  const Tensor product = record(unowned(matmul_primitive), {left, right}, type, std::move(shape), a.where());
  return reshape(Operand(product, a.where()), result);
}

Tensor outer(const Operand& a, const Operand& b) {
  const Tensor& first = as_tensor("outer", a);
  const Tensor& second = as_tensor("outer", b);
  if (first.rank() != 1 || second.rank() != 1) {
    throw_invalid("outer", fmt::format("shapes {} and {} are not vectors; flatten them", to_string(first.shape()),
                                       to_string(second.shape())));
  }
  return expand_dims(a, 1) * second;
}

Tensor vecdot(const Operand& a, const Operand& b) {
  const Tensor& left = as_tensor("vecdot", a);
  const Tensor& right = as_tensor("vecdot", b);
  if (left.rank() == 0 || right.rank() == 0) {
    throw_invalid("vecdot", "one operand is a scalar; multiply by * instead");
  }
  if (left.extent(-1) != right.extent(-1)) {
    throw_invalid("vecdot",
                  fmt::format("shapes {} and {} have last extents {} and {}; give equal ones", to_string(left.shape()),
                              to_string(right.shape()), left.extent(-1), right.extent(-1)));
  }
  const Tensor products = multiply(a, b);
  return sum(products, {-1}).astype(products.dtype());
}

}  // namespace vectis::inline v0_1::array
