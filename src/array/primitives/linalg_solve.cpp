// Systems of equations and determinants, by LU factorization with partial pivoting.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/primitives/linalg.hpp"
#include "array/strided.hpp"
#include "vectis/array/linalg.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using Gradients = std::vector<Tensor>;

std::string singular_text(LapackInt pivot) {
  return fmt::format(
      "is singular: its LU factorization has pivot {} equal to 0; add a multiple of the identity, or call "
      "pinv or lstsq",
      pivot);
}

double cube(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

// The systems a @ x = b of a node, ready to be solved in place. Right sides and solutions are rows, which is how LAPACK
// stores columns: the node's inputs are `a` and b^T, its value is x^T. LAPACK sees the rows of `a` as columns too, so
// that it must solve with the transposed matrix.
template <class T>
class Systems {
 public:
  // Allocates the value and copies the right sides there.
  explicit Systems(Node& node)
      : n(static_cast<LapackInt>(node.shape[node.shape.rank() - 1])),
        sides(static_cast<LapackInt>(node.shape[node.shape.rank() - 2])),
        elements(std::int64_t{n} * n) {
    const Node& b = *node.inputs[1].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    StridedReader(b).read_all(node.lane->executor(), node.host_data());
    matrices_ = reinterpret_cast<const T*>(contiguous_data(*node.inputs[0].node(), keep_));
    solutions_ = node.data<T>();
  }

  [[nodiscard]] const T* matrix(std::int64_t number) const { return matrices_ + number * elements; }
  [[nodiscard]] T* solution(std::int64_t number) const { return solutions_ + number * sides * n; }

  const LapackInt n;
  const LapackInt sides;
  const std::int64_t elements;  // of a matrix

 private:
  std::shared_ptr<Storage> keep_;
  const T* matrices_ = nullptr;
  T* solutions_ = nullptr;
};

class Solve final : public Primitive {
 public:
  explicit Solve(std::string_view name) : name_(name) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  void compute(Node& node) const override {
    with_element_type(node.type, [&](auto zero) { solve_all<decltype(zero)>(node); });
  }
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const Tensor of_b = record(std::make_shared<Solve>(name_), {matrix_transpose(inputs[0]), adjoint}, output.dtype(),
                               output.shape(), {});
    return {-matmul(matrix_transpose(of_b), output), of_b};
  }

 private:
  template <class T>
  void solve_all(Node& node) const {
    const Systems<T> systems(node);
    if (node.elements() == 0) return;
    const LapackInt n = systems.n;
    const MatrixLoop loop(name_, *node.inputs[0].node(), cube(n));
    const LapackRoutines<T>& lapack = loop.routines<T>();
    const auto make = [&] {
      return [&, lu = Scratch<T>(*node.lane, systems.elements),
              pivots = Scratch<LapackInt>(*node.lane, n)](std::int64_t i) {
        std::copy_n(systems.matrix(i), systems.elements, lu.data());
        if (!all_finite(lu.data(), systems.elements)) return is_not_finite;
        LapackInt info = 0;
        lapack.getrf(&n, &n, lu.data(), &n, pivots.data(), &info);
        if (info != 0) return info;
        lapack.getrs("T", &n, &systems.sides, lu.data(), &n, pivots.data(), systems.solution(i), &n, &info, 1);
        return info;
      };
    };
    loop.run(make, singular_text);
  }

  std::string_view name_;
};

// Reads a triangle of `a` only.
class SolveTriangular final : public Primitive {
 public:
  explicit SolveTriangular(bool upper) : upper_(upper) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "solve_triangular"; }
  void compute(Node& node) const override {
    with_element_type(node.type, [&](auto zero) { solve_all<decltype(zero)>(node); });
  }
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const Tensor of_b = record(std::make_shared<SolveTriangular>(!upper_), {matrix_transpose(inputs[0]), adjoint},
                               output.dtype(), output.shape(), {});
    const Tensor of_a = -matmul(matrix_transpose(of_b), output);
    return {upper_ ? triu(of_a) : tril(of_a), of_b};
  }

 private:
  template <class T>
  void solve_all(Node& node) const {
    const Systems<T> systems(node);
    if (node.elements() == 0) return;
    const LapackInt n = systems.n;
    const MatrixLoop loop(name(), *node.inputs[0].node(), static_cast<double>(systems.elements) * systems.sides);
    const LapackRoutines<T>& lapack = loop.routines<T>();
    const auto solve_one = [&](std::int64_t i) {
      LapackInt info = 0;
      lapack.trtrs(upper_ ? "L" : "U", "T", "N", &n, &systems.sides, systems.matrix(i), &n, systems.solution(i), &n,
                   &info, 1, 1, 1);
      return info;
    };
    loop.run([&] { return solve_one; },
             [](LapackInt row) { return fmt::format("is singular: element {} of its diagonal is 0", row - 1); });
  }

  bool upper_;
};

// A number as fraction * 2^exponent, which does not overflow.
struct ScaledProduct {
  void multiply(double factor) {
    int of_factor = 0;
    int of_product = 0;
    const double normal = std::frexp(factor, &of_factor);
    fraction = std::frexp(fraction * normal, &of_product);
    exponent += of_factor + of_product;
  }
  [[nodiscard]] double value() const {
    constexpr std::int64_t beyond = 1 << 16;
    return std::ldexp(fraction, static_cast<int>(std::clamp(exponent, -beyond, beyond)));
  }
  [[nodiscard]] double sign() const { return fraction > 0 ? 1 : fraction < 0 ? -1 : 0; }
  [[nodiscard]] double log() const {
    return std::log(std::fabs(fraction)) + static_cast<double>(exponent) * std::numbers::ln2;
  }

  double fraction = 1;
  std::int64_t exponent = 0;
};

// The product of the pivots, whose sign is changed by each exchange of rows.
template <class T>
ScaledProduct product_of_pivots(const T* lu, const LapackInt* pivots, std::int64_t n) {
  ScaledProduct product;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto pivot = static_cast<double>(lu[i * n + i]);
    product.multiply(pivots[i] == i + 1 ? pivot : -pivot);
  }
  return product;
}

// Calls `store(number, determinant)` for each matrix.
template <class T, class Store>
void for_determinants(std::string_view op, const Node& a, const Store& store) {
  std::shared_ptr<Storage> keep;
  const auto* const matrices = reinterpret_cast<const T*>(contiguous_data(a, keep));
  const auto n = static_cast<LapackInt>(a.shape[a.shape.rank() - 1]);
  const std::int64_t elements = std::int64_t{n} * n;
  const MatrixLoop loop(op, a, cube(n) / 3);
  const LapackRoutines<T>& lapack = loop.routines<T>();
  const auto make = [&] {
    return [&, lu = Scratch<T>(*a.lane, elements), pivots = Scratch<LapackInt>(*a.lane, n)](std::int64_t i) {
      LapackInt info = 0;
      if (n != 0) {
        std::copy_n(matrices + i * elements, elements, lu.data());
        if (!all_finite(lu.data(), elements)) return is_not_finite;
        lapack.getrf(&n, &n, lu.data(), &n, pivots.data(), &info);  // of a singular matrix, a pivot is 0
      }
      store(i, product_of_pivots(lu.data(), pivots.data(), n));
      return LapackInt{0};
    };
  };
  loop.run(make, singular_text);
}

// Returns `factors`, one for each matrix, times the transposed inverses of `a`.
Tensor scaled_inverse(const Tensor& factors, std::string_view op, const Tensor& a) {
  const Tensor inverted =
      record(std::make_shared<Solve>(op), {a, identity_like(a)}, a.dtype(), a.shape(), {});  // of a, transposed
  return expand_dims(expand_dims(factors, -1), -1) * inverted;
}

class Determinant final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "det"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    with_element_type(node.type, [&](auto zero) {
      using T = decltype(zero);
      for_determinants<T>(name(), *node.inputs[0].node(), [&](std::int64_t i, const ScaledProduct& product) {
        node.data<T>()[i] = static_cast<T>(product.value());
      });
    });
  }
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {scaled_inverse(adjoint * output, name(), inputs[0])};
  }
};

// Signs and logarithms of absolute values.
class LogDeterminant final : public Primitive {
 public:
  static Packing packing(const Shape& a) { return {batch_shape(a), batch_shape(a)}; }
  [[nodiscard]] std::string_view name() const noexcept override { return "slogdet"; }
  void compute(Node& node) const override {
    const Node& a = *node.inputs[0].node();
    node.lane->allocate(node);
    with_element_type(node.type, [&](auto zero) {
      using T = decltype(zero);
      const Packing packed = packing(a.shape);
      T* const signs = packed.data<T>(node, 0);
      T* const logs = packed.data<T>(node, 1);
      for_determinants<T>(name(), a, [&](std::int64_t i, const ScaledProduct& product) {
        signs[i] = static_cast<T>(product.sign());
        logs[i] = static_cast<T>(product.log());
      });
    });
  }
  [[nodiscard]] Gradients gradient(const Tensor&, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    return {scaled_inverse(packing(inputs[0].shape()).part(adjoint, 1), name(), inputs[0])};
  }
};

const Determinant determinant_primitive;
const LogDeterminant log_determinant_primitive;

// Calls LAPACK for the operands of a system: `a` and the right sides as rows, for a common batch. Right sides of one
// matrix are solved together, whatever their batch.
Tensor solve_rows(std::shared_ptr<const Primitive> primitive, const Tensor& a, const Tensor& rows,
                  const std::source_location& where) {
  const std::int64_t n = a.extent(-1);
  if (a.rank() == 2 && rows.rank() > 2) {
    const Tensor together = rows.reshape({rows.elements() / std::max<std::int64_t>(n, 1), n});
    return solve_rows(std::move(primitive), a, together, where).reshape(rows.shape());
  }
  const Shape batch = broadcast_shapes(primitive->name(), batch_shape(a.shape()), batch_shape(rows.shape()));
  const auto in_batch = [&](const Tensor& x) {
    Shape shape = batch;
    shape.push_back(x.extent(-2));
    shape.push_back(n);
    return broadcast(x, shape, where);
  };
  const Tensor right = in_batch(rows);
  check_shape(primitive->name(), right.shape(), a.dtype());
  return record(std::move(primitive), {in_batch(a), right}, a.dtype(), right.shape(), where);
}

Tensor solve_with(std::shared_ptr<const Primitive> primitive, const Operand& a, const Operand& b) {
  const std::string_view op = primitive->name();
  const Tensor matrices = as_square_matrices(op, a);
  const Tensor& given = as_tensor(op, b);
  check_devices(op, matrices, given);
  const bool is_vector = given.rank() == 1;
  if (given.rank() == 0 || given.extent(is_vector ? 0 : -2) != matrices.extent(-1)) {
    throw_invalid(op, fmt::format("shapes {} and {} do not fit: the right side needs {} rows",
                                  to_string(matrices.shape()), to_string(given.shape()), matrices.extent(-1)));
  }
  const Tensor right = as_matrices(op, is_vector ? expand_dims(b, 1) : given);
  const DType type = promote(matrices.dtype(), right.dtype());
  const Tensor x = matrix_transpose(
      solve_rows(std::move(primitive), matrices.astype(type), matrix_transpose(right.astype(type)), a.where()));
  return is_vector ? squeeze(x, {-1}) : x;
}

}  // namespace

Tensor solve(const Operand& a, const Operand& b) { return solve_with(std::make_shared<Solve>("solve"), a, b); }

Tensor solve_triangular(const Operand& a, const Operand& b, bool upper) {
  return solve_with(std::make_shared<SolveTriangular>(upper), a, b);
}

Tensor inverse(const Operand& a) {
  const Tensor matrices = as_square_matrices("inverse", a);
  return matrix_transpose(record(std::make_shared<Solve>("inverse"), {matrices, identity_like(matrices)},
                                 matrices.dtype(), matrices.shape(), a.where()));
}

Tensor det(const Operand& a) {
  const Tensor matrices = as_square_matrices("det", a);
  return record(unowned(determinant_primitive), {matrices}, matrices.dtype(), batch_shape(matrices.shape()), a.where());
}

SignAndLog slogdet(const Operand& a) {
  const Tensor matrices = as_square_matrices("slogdet", a);
  const Packing packing = LogDeterminant::packing(matrices.shape());
  const Tensor packed =
      record(unowned(log_determinant_primitive), {matrices}, matrices.dtype(), packing.shape(), a.where());
  return {packing.part(packed, 0), packing.part(packed, 1)};
}

}  // namespace vectis::inline v0_1::array
