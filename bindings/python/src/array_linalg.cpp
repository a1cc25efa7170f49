// What vectis.array.linalg (vectis/_array_linalg.py) calls: factorizations of matrices and systems of equations.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <tuple>

#include "array_casters.hpp"
#include "array_object.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

void bind_functions(nb::module_& module) {
  using Function = Tensor (*)(const Operand&);
  for (const auto& [name, function, description] :
       {std::tuple<const char*, Function, const char*>{"linalg_inv", &array::inverse, "Return inverse matrices."},
        std::tuple<const char*, Function, const char*>{"linalg_cholesky", &array::cholesky,
                                                       "Return L with L @ L^T = x, which is lower triangular."},
        std::tuple<const char*, Function, const char*>{"linalg_det", &array::det, "Return determinants."}}) {
    module.def(
        name, [chosen = function](const Argument& x) { return to_array(chosen(x.operand())); }, "x"_a,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike) -> Array", name).c_str()), description);
  }
  module.def(
      "linalg_solve",
      [](const Argument& a, const Argument& b) { return to_array(array::solve(a.operand(), b.operand())); }, "a"_a,
      "b"_a, nb::sig("def linalg_solve(a: vectis._types.ArrayLike, b: vectis._types.ArrayLike) -> Array"),
      "Return x with a @ x = b.");
  module.def(
      "linalg_pinv",
      [](const Argument& x, std::optional<double> tolerance) { return to_array(array::pinv(x.operand(), tolerance)); },
      "x"_a, "tolerance"_a = nb::none(),
      nb::sig("def linalg_pinv(x: vectis._types.ArrayLike, tolerance: float | None = None) -> Array"),
      "Return pseudoinverses.");
  module.def(
      "linalg_matrix_power",
      [](const Argument& x, std::int64_t exponent) { return to_array(array::matrix_power(x.operand(), exponent)); },
      "x"_a, "exponent"_a, nb::sig("def linalg_matrix_power(x: vectis._types.ArrayLike, exponent: int) -> Array"),
      "Return products of equal matrices.");
  module.def(
      "linalg_diagonal",
      [](const Argument& x, std::int64_t offset) { return to_array(array::diagonal(x.operand(), offset)); }, "x"_a,
      "offset"_a = 0, nb::sig("def linalg_diagonal(x: vectis._types.ArrayLike, offset: int = 0) -> Array"),
      "Return diagonals as the last axis.");
}

void bind_factorizations(nb::module_& module) {
  module.def(
      "linalg_qr",
      [](const Argument& x) {
        const array::Qr result = array::qr(x.operand());
        return nb::make_tuple(to_array(result.q), to_array(result.r));
      },
      "x"_a, nb::sig("def linalg_qr(x: vectis._types.ArrayLike) -> tuple[Array, Array]"),
      "Return q and r of x = q @ r.");
  module.def(
      "linalg_svd",
      [](const Argument& x) {
        const array::Svd result = array::svd(x.operand());
        return nb::make_tuple(to_array(result.u), to_array(result.s), to_array(result.vt));
      },
      "x"_a, nb::sig("def linalg_svd(x: vectis._types.ArrayLike) -> tuple[Array, Array, Array]"),
      "Return u, s and vt of x = u @ diag(s) @ vt.");
  module.def(
      "linalg_eigh",
      [](const Argument& x) {
        const array::Eigh result = array::eigh(x.operand());
        return nb::make_tuple(to_array(result.w), to_array(result.v));
      },
      "x"_a, nb::sig("def linalg_eigh(x: vectis._types.ArrayLike) -> tuple[Array, Array]"),
      "Return eigenvalues and eigenvectors of symmetric matrices.");
  module.def(
      "linalg_slogdet",
      [](const Argument& x) {
        const array::SignAndLog result = array::slogdet(x.operand());
        return nb::make_tuple(to_array(result.sign), to_array(result.logabs));
      },
      "x"_a, nb::sig("def linalg_slogdet(x: vectis._types.ArrayLike) -> tuple[Array, Array]"),
      "Return signs and logarithms of determinants.");
}

}  // namespace

void bind_array_linalg(nb::module_& module) {
  bind_functions(module);
  bind_factorizations(module);
}

}  // namespace vectis::python
