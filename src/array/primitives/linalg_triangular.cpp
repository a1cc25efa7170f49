// Factorizations with triangular matrices: Cholesky and QR.

#include <fmt/format.h>

#include <algorithm>
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

// The lower triangle of rows is an upper triangle of columns: LAPACK's U with U^T @ U = a is L^T.
class Cholesky final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cholesky"; }
  void compute(Node& node) const override {
    const Node& a = *node.inputs[0].node();
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    StridedReader(a).read_all(node.lane->executor(), node.host_data());
    with_element_type(node.type, [&](auto zero) { factorize_all(node, node.data<decltype(zero)>()); });
  }
  // Murray, "Differentiation of the Cholesky decomposition" (2016), of the symmetric argument.
  [[nodiscard]] Gradients gradient(const Tensor& l, std::span<const Tensor>, const Tensor& adjoint) const override {
    const Tensor lt = matrix_transpose(l);
    const Tensor inner = matmul(lt, adjoint);
    const Tensor halved = tril(inner) - diagonal_matrices(diagonal(inner)) * 0.5;
    const Tensor left = solve_triangular(lt, halved, true);  // L^-T @ halved
    return {symmetrized(matrix_transpose(solve_triangular(lt, matrix_transpose(left), true)))};
  }

 private:
  template <class T>
  void factorize_all(const Node& node, T* matrices) const {
    const auto n = static_cast<LapackInt>(node.shape[node.shape.rank() - 1]);
    const std::int64_t elements = std::int64_t{n} * n;
    const MatrixLoop loop(name(), node, static_cast<double>(elements) * n / 3);
    const LapackRoutines<T>& lapack = loop.routines<T>();
    const auto factorize = [&](std::int64_t i) {
      T* const matrix = matrices + i * elements;
      clear_above_diagonal(matrix, n);
      if (!all_finite(matrix, elements)) return is_not_finite;
      LapackInt info = 0;
      lapack.potrf("U", &n, matrix, &n, &info, 1);
      return info;
    };
    loop.run([&] { return factorize; },
             [](LapackInt order) {
               return fmt::format(
                   "is not positive definite: its leading block of {0} x {0} is not; add a multiple of the "
                   "identity",
                   order);
             });
  }
};

// The input is a^T, whose rows are the columns that LAPACK factorizes; q is packed as its transpose.
class QrFactors final : public Primitive {
 public:
  static Packing packing(const Shape& at) {
    const std::int64_t n = at[at.rank() - 2];
    const std::int64_t m = at[at.rank() - 1];
    const std::int64_t k = std::min(m, n);
    return {batch_shape(at, {k, m}), batch_shape(at, {k, n})};
  }
  static Qr unpack(const Tensor& packed, const Shape& at) {
    const Packing parts = packing(at);
    return {matrix_transpose(parts.part(packed, 0)), parts.part(packed, 1)};
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "qr"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    with_element_type(node.type, [&](auto zero) { factorize_all<decltype(zero)>(node); });
  }
  // Of a wide matrix, the columns after the first m are q @ r2: their gradient is q @ gr2, and adds to that of q.
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const Shape& at = inputs[0].shape();
    const auto [q, r] = unpack(output, at);
    const auto [gq, gr] = unpack(adjoint, at);
    const std::int64_t k = q.extent(-1);
    if (r.extent(-1) == k) return {matrix_transpose(square_gradient(q, r, gq, gr))};
    const auto first = [&](const Tensor& x) { return slice(x, -1, {.stop = k}); };
    const auto rest = [&](const Tensor& x) { return slice(x, -1, {.start = k}); };
    const Tensor of_q = gq + matmul(matmul(q, rest(r)), matrix_transpose(rest(gr)));
    const Tensor parts[] = {square_gradient(q, first(r), of_q, first(gr)), matmul(q, rest(gr))};
    return {matrix_transpose(concat(parts, -1))};
  }

 private:
  // Of q @ r with a square r: (gq + q @ S) @ r^-T, where S is symmetric with the upper triangle of gr @ r^T - q^T @ gq
  // (Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2010).
  static Tensor square_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
    const Tensor inner = matmul(gr, matrix_transpose(r)) - matmul(matrix_transpose(q), gq);
    const Tensor symmetric = triu(inner) + matrix_transpose(triu(inner, 1));
    return matrix_transpose(solve_triangular(r, matrix_transpose(gq + matmul(q, symmetric)), true));
  }

  // One thread's memory and the sizes of the matrices.
  template <class T>
  struct Workspace {
    Workspace(const LapackRoutines<T>& routines, Lane& lane, std::int64_t rows, std::int64_t columns)
        : lapack(routines),
          m(static_cast<LapackInt>(rows)),
          n(static_cast<LapackInt>(columns)),
          k(std::min(m, n)),
          matrix(lane, rows * columns),
          scales(lane, k),
          work_size(wanted_size()),
          work(lane, work_size) {}

    // Factorizes a column-major matrix.
    LapackInt factorize(const T* a, T* qt, T* r) const {
      const std::int64_t elements = std::int64_t{m} * n;
      if (!all_finite(a, elements)) return is_not_finite;
      std::copy_n(a, elements, matrix.data());
      LapackInt info = 0;
      lapack.geqrf(&m, &n, matrix.data(), &m, scales.data(), work.data(), &work_size, &info);
      for (std::int64_t row = 0; row < k; ++row) {
        for (std::int64_t column = 0; column < n; ++column) {
          r[row * n + column] = column < row ? T{0} : matrix.data()[column * m + row];
        }
      }
      lapack.orgqr(&m, &k, &k, matrix.data(), &m, scales.data(), work.data(), &work_size, &info);
      std::copy_n(matrix.data(), std::int64_t{m} * k, qt);
      return info;
    }

    const LapackRoutines<T>& lapack;
    LapackInt m;
    LapackInt n;
    LapackInt k;
    Scratch<T> matrix;
    Scratch<T> scales;
    LapackInt work_size;
    Scratch<T> work;

   private:
    [[nodiscard]] LapackInt wanted_size() const {
      const LapackInt query = -1;
      LapackInt info = 0;
      T of_geqrf = 0;
      T of_orgqr = 0;
      lapack.geqrf(&m, &n, matrix.data(), &m, scales.data(), &of_geqrf, &query, &info);
      lapack.orgqr(&m, &k, &k, matrix.data(), &m, scales.data(), &of_orgqr, &query, &info);
      return workspace_size(std::max(of_geqrf, of_orgqr));
    }
  };

  template <class T>
  void factorize_all(const Node& node) const {
    const Node& at = *node.inputs[0].node();
    const std::int64_t n = at.shape[at.shape.rank() - 2];
    const std::int64_t m = at.shape[at.shape.rank() - 1];
    const std::int64_t k = std::min(m, n);
    std::shared_ptr<Storage> keep;
    const auto* const matrices = reinterpret_cast<const T*>(contiguous_data(at, keep));
    const Packing parts = packing(at.shape);
    T* const qt = parts.data<T>(node, 0);
    T* const r = parts.data<T>(node, 1);
    const MatrixLoop loop(name(), at, 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
    const auto make = [&] {
      return [&, space = Workspace<T>(loop.routines<T>(), *node.lane, m, n)](std::int64_t i) {
        return space.factorize(matrices + i * m * n, qt + i * k * m, r + i * k * n);
      };
    };
    loop.run(make, [](LapackInt info) { return fmt::format("could not be factorized: LAPACK returned {}", info); });
  }
};

const Cholesky cholesky_primitive;
const QrFactors qr_primitive;

}  // namespace

Tensor cholesky(const Operand& a) {
  const Tensor matrices = as_square_matrices("cholesky", a);
  return record(unowned(cholesky_primitive), {matrices}, matrices.dtype(), matrices.shape(), a.where());
}

Qr qr(const Operand& a) {
  const Tensor transposed = matrix_transpose(as_matrices("qr", a));
  const Packing packing = QrFactors::packing(transposed.shape());
  check_shape("qr", packing.shape(), transposed.dtype());
  const Tensor packed = record(unowned(qr_primitive), {transposed}, transposed.dtype(), packing.shape(), a.where());
  return QrFactors::unpack(packed, transposed.shape());
}

}  // namespace vectis::inline v0_1::array
