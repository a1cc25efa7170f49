// What linear algebra rejects, and what happens without LAPACK.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/arrays/linalg_cases.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;
constexpr ErrorCode rejected = ErrorCode::invalid_input;

// Matrices of shape (2, 3, 2, 2), identities but the one at (1, 2).
Tensor batch_with(const Tensor& matrix) {
  std::vector<Tensor> matrices(5, eye(2, 2));
  matrices.push_back(matrix);
  return stack(matrices).reshape({2, 3, 2, 2});
}

}  // namespace

TEST(ArrayLinalgErrors, NameShapesAndTypes) {
  const Tensor wide = zeros({2, 3});
  EXPECT_ERROR(solve(wide, wide), rejected, "[solve]", "(2, 3)", "2 x 3, not square");
  EXPECT_ERROR(solve(eye(2, 2), zeros({3, 2})), rejected, "[solve]", "(2, 2)", "(3, 2)", "2 rows");
  EXPECT_ERROR(solve(eye(2, 2), zeros({})), rejected, "[solve]", "()");
  EXPECT_ERROR(solve(zeros({2, 2, 2}), zeros({3, 2, 2})), rejected, "[solve]", "2 and 3");
  EXPECT_ERROR(solve_triangular(eye(2, 2), zeros({3})), rejected, "[solve_triangular]", "2 rows");
  EXPECT_ERROR(lstsq(wide, zeros({3})), rejected, "[lstsq]", "2 rows");
  EXPECT_ERROR(inverse(wide), rejected, "[inverse]", "not square");
  EXPECT_ERROR(cholesky(wide), rejected, "[cholesky]", "not square");
  EXPECT_ERROR(eigh(wide), rejected, "[eigh]", "not square");
  EXPECT_ERROR(det(wide), rejected, "[det]", "not square");
  EXPECT_ERROR(slogdet(wide), rejected, "[slogdet]", "not square");
  EXPECT_ERROR(matrix_power(wide, 2), rejected, "[matrix_power]", "not square");
  EXPECT_ERROR(svd(zeros({3})), rejected, "[svd]", "(3,)", "two axes");
  EXPECT_ERROR(qr(zeros({})), rejected, "[qr]", "()", "two axes");
  EXPECT_ERROR(diagonal(zeros({3})), rejected, "[diagonal]", "(3,)");
  EXPECT_ERROR(matrix_norm(zeros({3})), rejected, "[matrix_norm]", "(3,)");
  EXPECT_ERROR(svd(zeros({2, 2}, DType::float16)), rejected, "[svd]", "float16", "astype");
  EXPECT_ERROR(det(zeros({2, 2}, DType::boolean)), rejected, "[det]", "bool");
  EXPECT_ERROR(svd(Tensor()), rejected, "[svd]", "empty");
  EXPECT_ERROR(svd(zeros({30'000, 30'000})), rejected, "[svd]", "30000", "23000");
  EXPECT_ERROR(eigh(zeros({40'000, 40'000})), rejected, "[eigh]", "40000", "32000");
}

TEST(ArrayLinalgErrors, NameTheMatrixOfTheBatch) {
  const Tensor singular = ones({2, 2});
  const Tensor indefinite = -eye(2, 2);
  EXPECT_ERROR(solve(singular, ones({2})).eval(), rejected, "[solve]", "the matrix is singular", "pivot 2");
  EXPECT_ERROR(solve(batch_with(singular), ones({2})).eval(), rejected, "[solve]", "matrix (1, 2) of the batch",
               "singular");
  EXPECT_ERROR(inverse(batch_with(singular)).eval(), rejected, "[inverse]", "matrix (1, 2)");
  EXPECT_ERROR(solve_triangular(batch_with(zeros({2, 2})), ones({2})).eval(), rejected, "[solve_triangular]",
               "matrix (1, 2)", "element 0");
  EXPECT_ERROR(cholesky(batch_with(indefinite)).eval(), rejected, "[cholesky]", "matrix (1, 2)",
               "not positive definite", "1 x 1");
  EXPECT_ERROR(matrix_power(zeros({2, 2}), -1).eval(), rejected, "[inverse]", "singular");
}

TEST(ArrayLinalgErrors, RejectElementsThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    for (const DType type : {DType::float32, DType::float64}) {
      for (const std::int64_t n : {1, 2, 40}) {
        const Tensor a = full({n, n}, bad, type);
        const Tensor diagonal_only = where(equal(eye(n, n, 0, type), 1), a, 0);
        for (const Tensor& x : {a, diagonal_only}) {
          EXPECT_ERROR(solve(x, x).eval(), rejected, "[solve]", "not finite");
          EXPECT_ERROR(inverse(x).eval(), rejected, "[inverse]", "not finite");
          EXPECT_ERROR(cholesky(x).eval(), rejected, "[cholesky]", "not finite");
          EXPECT_ERROR(qr(x).r.eval(), rejected, "[qr]", "not finite");
          EXPECT_ERROR(svd(x).s.eval(), rejected, "[svd]", "not finite");
          EXPECT_ERROR(eigh(x).w.eval(), rejected, "[eigh]", "not finite");
          EXPECT_ERROR(det(x).eval(), rejected, "[det]", "not finite");
          EXPECT_ERROR(slogdet(x).sign.eval(), rejected, "[slogdet]", "not finite");
          EXPECT_ERROR(pinv(x).eval(), rejected, "not finite");
        }
      }
    }
  }
  // Right sides are only multiplied and added.
  const Tensor x = solve(eye(2, 2), full({2}, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(all(isnan(x)).item<bool>());
}

TEST(ArrayLinalgErrors, FailedArraysCanBeComputedAgain) {
  const Tensor x = cholesky(-eye(2, 2));
  EXPECT_ERROR(x.eval(), rejected, "[cholesky]");
  EXPECT_ERROR(x.eval(), rejected, "[cholesky]");
}

TEST(ArrayLinalgErrors, WithoutLapackSayWhatToInstall) {
  RuntimeOptions off = with_threads(1);
  off.settings = {{"backends.cpu.lapack", "off"}};
  Runtime without(std::move(off));
  const Tensor a = ones({2, 2}, DType::float32, {.runtime = &without});
  EXPECT_ERROR(svd(a), ErrorCode::unsupported, "[svd]", "switched off by backends.cpu.lapack");
  EXPECT_EQ(trace(a).item(), 2);
  EXPECT_EQ(matrix_norm(a).item(), 2);

  RuntimeOptions absent = with_threads(1);
  absent.settings = {{"backends.cpu.lapack", "liblapack_of_nobody.so"}};
  Runtime other(std::move(absent));
  EXPECT_ERROR(cholesky(ones({2, 2}, DType::float32, {.runtime = &other})), ErrorCode::unsupported, "[cholesky]",
               "liblapack_of_nobody.so", "liblapack3", "backends.cpu.lapack");
}

TEST(ArrayLinalgErrors, LibrariesAreTriedInOrder) {
  FakeOs os;
  os.libraries["libopenblas.so.0"] = {};  // without any routine
  RuntimeOptions options = with_threads(1);
  options.os = &os;
  Runtime runtime(std::move(options));
  const Tensor a = ones({2, 2}, DType::float32, {.runtime = &runtime});
  EXPECT_ERROR(qr(a), ErrorCode::unsupported, "[qr]", "liblapack.so.3: cannot open", "libopenblas.so.0 lacks s");
  EXPECT_ERROR(qr(a), ErrorCode::unsupported, "[qr]");
  const std::vector<std::string> opened = os.opened();
  EXPECT_EQ(std::ranges::count(opened, "liblapack.so.3"), 1) << "opened once";
}

}  // namespace vectis::test
