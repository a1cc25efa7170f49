// Products of matrices.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The kernel layer multiplies these types.
bool has_kernel(DType type) { return type == DType::float32 || type == DType::float16 || type == DType::bfloat16; }

// Products of fewer multiply-adds are computed here: the call of the kernel layer takes longer.
constexpr std::int64_t small_product = 4096;

// A factor, [batch..., rows, columns], in memory that the kernel layer takes: rows or columns without gaps.
class Factor {
 public:
  explicit Factor(const Node& node) : node_(node), strides_(node.all_strides()), storage_(node.storage) {
    const std::size_t rank = node.shape.rank();
    const std::int64_t rows = node.shape[rank - 2];
    const std::int64_t columns = node.shape[rank - 1];
    const std::int64_t row = strides_[rank - 2];
    const std::int64_t column = strides_[rank - 1];
    const bool has_rows = column == 1 && row >= columns;
    is_transposed_ = !has_rows && row == 1 && column >= rows;
    offset_ = node.offset;
    if ((has_rows || is_transposed_) && storage_->buffer) return;
    std::shared_ptr<Storage> copy;
    const std::byte* const data = contiguous_data(node, copy);
    if (copy == nullptr || !copy->buffer) copy = in_device_memory(data);
    storage_ = std::move(copy);
    strides_ = contiguous_strides(node.shape);
    is_transposed_ = false;
    offset_ = 0;
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
  [[nodiscard]] std::shared_ptr<Storage> in_device_memory(const std::byte* data) const {
    const auto bytes = static_cast<std::size_t>(node_.elements()) * node_.element_bytes();
    // Beyond what is stored inline, so that it comes from the pool.
    std::shared_ptr<Storage> storage = node_.lane->allocate(std::max(bytes, Storage::inline_bytes + 1));
    std::memcpy(storage->host, data, bytes);
    return storage;
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
  std::shared_ptr<Storage> keep_b;
  const std::byte* const from_a = contiguous_data(a, keep_a);
  const std::byte* const from_b = contiguous_data(b, keep_b);
  std::vector<Wide> wide_b(static_cast<std::size_t>(b.elements()));
  load_wide(b.type, from_b, wide_b.size(), wide_b.data());
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
          if constexpr (std::is_integral_v<Wide>) {
            sums[column] =
                static_cast<Wide>(static_cast<std::uint64_t>(sums[column]) +
                                  static_cast<std::uint64_t>(factor) * static_cast<std::uint64_t>(other[column]));
          } else {
            sums[column] += factor * other[column];
          }
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

class Matmul final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "matmul"; }

  void compute(Node& node) const override {
    const Node& a = *node.inputs[0].node();
    const Node& b = *node.inputs[1].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    const std::int64_t k = a.shape[a.shape.rank() - 1];
    if (k == 0) {
      std::memset(node.host_data(), 0, static_cast<std::size_t>(node.elements()) * node.element_bytes());
    } else if (has_kernel(node.type) && node.elements() * k > small_product && node.storage->buffer) {
      multiply_by_kernel(a, b, node);
    } else if (is_real(node.type)) {
      multiply_wide<double>(a, b, node);
    } else {
      multiply_wide<std::int64_t>(a, b, node);
    }
  }

  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    return {matmul(adjoint, matrix_transpose(inputs[1])), matmul(matrix_transpose(inputs[0]), adjoint)};
  }

  [[nodiscard]] OperationCost cost(const Node& node) const override {
    OperationCost cost = Primitive::cost(node);
    cost.operations *= 2 * static_cast<double>(node.inputs[0].extent(-1));
    return cost;
  }

 private:
  // The kernel layer writes float32; results of 16 bits are rounded from it.
  static void multiply_by_kernel(const Node& a, const Node& b, Node& node) {
    const std::size_t rank = node.shape.rank();
    const auto m = static_cast<std::uint64_t>(node.shape[rank - 2]);
    const auto n = static_cast<std::uint64_t>(node.shape[rank - 1]);
    const Factor left(a);
    const Factor right(b);
    const bool is_single = node.type == DType::float32;
    const std::shared_ptr<Storage> wide =
        is_single ? node.storage : node.lane->allocate(static_cast<std::uint64_t>(node.elements()) * sizeof(float));
    const std::int64_t count = node.elements() / static_cast<std::int64_t>(m * n);
    for (std::int64_t i = 0; i < count; ++i) {
      const View views[] = {
          left.view(i), right.view(i),
          View(wide->buffer.memory(), DType::float32, m, n, static_cast<std::uint64_t>(i) * m * n, n)};
      const ParameterValue parameters[] = {int{left.is_transposed()}, int{right.is_transposed()}};
      node.lane->run_operation("matmul", views, parameters);
    }
    if (is_single) return;
    const auto* const values = reinterpret_cast<const float*>(wide->host);
    const auto bytes = node.element_bytes();
    for (std::size_t i = 0; i < static_cast<std::size_t>(node.elements()); ++i) {
      const double value = values[i];
      store_wide(node.type, &value, 1, node.host_data() + i * bytes);
    }
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
  if (as_tensor("vecdot", a).rank() == 0 || as_tensor("vecdot", b).rank() == 0) {
    throw_invalid("vecdot", "one operand is a scalar; multiply by * instead");
  }
  return sum(multiply(a, b), {-1});
}

}  // namespace vectis::inline v0_1::array
