// Singular values, eigenvalues and their vectors.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

// Beyond these the size of the workspace, about 4 k^2 and 2 n^2, does not fit LAPACK's integers.
constexpr std::int64_t svd_extent_max = 23'000;  // of the smaller extent
constexpr std::int64_t eigh_extent_max = 32'000;

std::string no_convergence_text(LapackInt info) {
  return fmt::format("did not converge (LAPACK returned {}); scale it or compute in float64", info);
}

// The rows of `a` are columns to LAPACK, which factorizes a^T = vt^T @ diag(s) @ u^T: its left vectors, in columns, are
// the rows of vt, and its right ones, in rows, are those of u^T in columns. Nothing is transposed.
class SingularValues final : public Primitive {
 public:
  static Packing packing(const Shape& a) {
    const std::int64_t m = a[a.rank() - 2];
    const std::int64_t n = a[a.rank() - 1];
    const std::int64_t k = std::min(m, n);
    return {batch_shape(a, {m, k}), batch_shape(a, {k}), batch_shape(a, {k, n})};
  }
  static Svd unpack(const Tensor& packed, const Shape& a) {
    const Packing parts = packing(a);
    return {parts.part(packed, 0), parts.part(packed, 1), parts.part(packed, 2)};
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "svd"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    with_element_type(node.type, [&](auto zero) { factorize_all<decltype(zero)>(node); });
  }
  // Townsend, "Differentiating the singular value decomposition" (2016). Terms of equal singular values are left out:
  // the gradient of a function of s alone is right.
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const auto [u, s, vt] = unpack(output, inputs[0].shape());
    const auto [gu, gs, gvt] = unpack(adjoint, inputs[0].shape());
    const Tensor row = expand_dims(s, -2);
    const Tensor column = expand_dims(s, -1);
    const Tensor spread = reciprocal_or_zero((row - column) * (row + column));  // 1 / (s_j^2 - s_i^2)
    const auto skew = [](const Tensor& x) { return x - matrix_transpose(x); };
    const Tensor of_u = matmul(matrix_transpose(u), gu);
    const Tensor of_v = matmul(vt, matrix_transpose(gvt));
    const Tensor inner = skew(of_u) * spread * row + skew(of_v) * spread * column + diagonal_matrices(gs);
    Tensor result = matmul(matmul(u, inner), vt);
    const std::int64_t k = s.extent(-1);
    // What leaves the space that u, or v, spans.
    if (u.extent(-2) > k) result = result + matmul((gu - matmul(u, of_u)) * reciprocal_or_zero(row), vt);
    if (vt.extent(-1) > k) {
      const Tensor outside = gvt - matmul(matrix_transpose(of_v), vt);
      result = result + matmul(u, outside * reciprocal_or_zero(column));
    }
    return {result};
  }

 private:
  // One thread's memory, and the sizes that LAPACK sees: those of a^T.
  template <class T>
  struct Workspace {
    Workspace(const LapackRoutines<T>& routines, Lane& lane, std::int64_t m_of_a, std::int64_t n_of_a)
        : lapack(routines),
          m(static_cast<LapackInt>(n_of_a)),
          n(static_cast<LapackInt>(m_of_a)),
          k(std::min(m, n)),
          matrix(lane, m_of_a * n_of_a),
          indices(lane, std::int64_t{8} * k) {
      T wanted = 0;
      (void)call(-1, &wanted, nullptr, nullptr, nullptr);
      work_size = workspace_size(wanted);
      work.emplace(lane, work_size);
    }

    LapackInt factorize(const T* a, T* u, T* s, T* vt) const {
      const std::int64_t elements = std::int64_t{m} * n;
      if (!all_finite(a, elements)) return is_not_finite;
      std::copy_n(a, elements, matrix.data());
      return call(work_size, work->data(), u, s, vt);
    }

    LapackInt call(LapackInt size, T* space, T* u, T* s, T* vt) const {
      LapackInt info = 0;
      lapack.gesdd("S", &m, &n, matrix.data(), &m, s, vt, &m, u, &k, space, &size, indices.data(), &info, 1);
      return info;
    }

    const LapackRoutines<T>& lapack;
    LapackInt m;
    LapackInt n;
    LapackInt k;
    Scratch<T> matrix;
    Scratch<LapackInt> indices;
    LapackInt work_size = 0;
    std::optional<Scratch<T>> work;
  };

  template <class T>
  void factorize_all(const Node& node) const {
    const Node& a = *node.inputs[0].node();
    const std::int64_t m = a.shape[a.shape.rank() - 2];
    const std::int64_t n = a.shape[a.shape.rank() - 1];
    const std::int64_t k = std::min(m, n);
    std::shared_ptr<Storage> keep;
    const auto* const matrices = reinterpret_cast<const T*>(contiguous_data(a, keep));
    const Packing parts = packing(a.shape);
    T* const u = parts.data<T>(node, 0);
    T* const s = parts.data<T>(node, 1);
    T* const vt = parts.data<T>(node, 2);
    const MatrixLoop loop(name(), a, 10.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
    const auto make = [&] {
      return [&, space = Workspace<T>(loop.routines<T>(), *node.lane, m, n)](std::int64_t i) {
        return space.factorize(matrices + i * m * n, u + i * m * k, s + i * k, vt + i * k * n);
      };
    };
    loop.run(make, no_convergence_text);
  }
};

// LAPACK replaces the matrix by its eigenvectors in columns, which are the rows of the packed array.
class Eigenvalues final : public Primitive {
 public:
  static Packing packing(const Shape& a) {
    const std::int64_t n = a[a.rank() - 1];
    return {batch_shape(a, {n}), a};
  }
  static Eigh unpack(const Tensor& packed, const Shape& a) {
    const Packing parts = packing(a);
    return {parts.part(packed, 0), matrix_transpose(parts.part(packed, 1))};
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "eigh"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    if (node.elements() == 0) return;
    with_element_type(node.type, [&](auto zero) { factorize_all<decltype(zero)>(node); });
  }
  // Giles, "An extended collection of matrix derivative results" (2008), of the symmetric argument. Terms of equal
  // eigenvalues are left out.
  [[nodiscard]] Gradients gradient(const Tensor& output, std::span<const Tensor> inputs,
                                   const Tensor& adjoint) const override {
    const auto [w, v] = unpack(output, inputs[0].shape());
    const auto [gw, gv] = unpack(adjoint, inputs[0].shape());
    const Tensor spread = reciprocal_or_zero(expand_dims(w, -2) - expand_dims(w, -1));  // 1 / (w_j - w_i)
    const Tensor vt = matrix_transpose(v);
    const Tensor inner = diagonal_matrices(gw) + matmul(vt, gv) * spread;
    return {symmetrized(matmul(matmul(v, inner), vt))};
  }

 private:
  template <class T>
  struct Workspace {
    Workspace(const LapackRoutines<T>& routines, Lane& lane, std::int64_t extent)
        : lapack(routines), n(static_cast<LapackInt>(extent)) {
      T wanted = 0;
      (void)call(-1, &wanted, -1, &indices_size, nullptr, nullptr);
      work_size = workspace_size(wanted);
      work.emplace(lane, work_size);
      indices.emplace(lane, indices_size);
    }

    LapackInt factorize(T* matrix, T* w) const {
      clear_above_diagonal(matrix, n);
      if (!all_finite(matrix, std::int64_t{n} * n)) return is_not_finite;
      return call(work_size, work->data(), indices_size, indices->data(), matrix, w);
    }

    LapackInt call(LapackInt size, T* space, LapackInt index_size, LapackInt* index_space, T* matrix, T* w) const {
      LapackInt info = 0;
      lapack.syevd("V", "U", &n, matrix, &n, w, space, &size, index_space, &index_size, &info, 1, 1);
      return info;
    }

    const LapackRoutines<T>& lapack;
    LapackInt n;
    LapackInt work_size = 0;
    LapackInt indices_size = 0;
    std::optional<Scratch<T>> work;
    std::optional<Scratch<LapackInt>> indices;
  };

  template <class T>
  void factorize_all(const Node& node) const {
    const Node& a = *node.inputs[0].node();
    const std::int64_t n = a.shape[a.shape.rank() - 1];
    const Packing parts = packing(a.shape);
    T* const w = parts.data<T>(node, 0);
    T* const vt = parts.data<T>(node, 1);
    StridedReader(a).read_all(node.lane->executor(), reinterpret_cast<std::byte*>(vt));
    const MatrixLoop loop(name(), a, 9.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
    const auto make = [&] {
      return [&, space = Workspace<T>(loop.routines<T>(), *node.lane, n)](std::int64_t i) {
        return space.factorize(vt + i * n * n, w + i * n);
      };
    };
    loop.run(make, no_convergence_text);
  }
};

const SingularValues svd_primitive;
const Eigenvalues eigh_primitive;

}  // namespace

Svd svd(const Operand& a) {
  const Tensor matrices = as_matrices("svd", a);
  check_extent("svd", std::min(matrices.extent(-1), matrices.extent(-2)), svd_extent_max);
  const Packing packing = SingularValues::packing(matrices.shape());
  check_shape("svd", packing.shape(), matrices.dtype());
  const Tensor packed = record(unowned(svd_primitive), {matrices}, matrices.dtype(), packing.shape(), a.where());
  return SingularValues::unpack(packed, matrices.shape());
}

Eigh eigh(const Operand& a) {
  const Tensor matrices = as_square_matrices("eigh", a);
  check_extent("eigh", matrices.extent(-1), eigh_extent_max);
  const Packing packing = Eigenvalues::packing(matrices.shape());
  check_shape("eigh", packing.shape(), matrices.dtype());
  const Tensor packed = record(unowned(eigh_primitive), {matrices}, matrices.dtype(), packing.shape(), a.where());
  return Eigenvalues::unpack(packed, matrices.shape());
}

}  // namespace vectis::inline v0_1::array
