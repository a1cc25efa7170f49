// Linear algebra on devices: factorizations are of the CPU only, what is made of other operations is not.

#include "tests/arrays_devices/fixture.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

}  // namespace

TEST_P(EveryArrayDevice, FactorizesOnTheCpuOnly) {
  const Tensor a = random_on_target({3, 3});
  const ErrorCode unsupported = ErrorCode::unsupported;
  EXPECT_ERROR(solve(a, a), unsupported, "[solve]", "CPU only", target().label(), "x.on(cpu)");
  EXPECT_ERROR(inverse(a), unsupported, "[inverse]", "CPU only");
  EXPECT_ERROR(pinv(a), unsupported, "[pinv]", "CPU only");
  EXPECT_ERROR(cholesky(a), unsupported, "[cholesky]", "CPU only");
  EXPECT_ERROR(qr(a), unsupported, "[qr]", "CPU only");
  EXPECT_ERROR(svd(a), unsupported, "[svd]", "CPU only");
  EXPECT_ERROR(eigh(a), unsupported, "[eigh]", "CPU only");
  EXPECT_ERROR(det(a), unsupported, "[det]", "CPU only");
  EXPECT_ERROR(slogdet(a), unsupported, "[slogdet]", "CPU only");
  const Tensor there = a.on(host());
  // There and back, also for the gradient.
  const Tensor gradient = grad([&](const Tensor& x) { return slogdet(x.on(host())).logabs; }, a);
  expect_same(gradient, matrix_transpose(inverse(there)), 1e-4, "gradient");
}

TEST_P(EveryArrayDevice, ComputesNormsPowersAndDiagonals) {
  const Tensor there = random_on_host({2, 3, 3});
  const Tensor a = there.on(target());
  expect_same(diagonal(a, 1), diagonal(there, 1), 0, "diagonal");
  expect_same(trace(a), trace(there), 1e-5, "trace");
  expect_same(matrix_power(a, 3), matrix_power(there, 3), 1e-4, "power");
  for (const MatrixNorm kind : {MatrixNorm::frobenius, MatrixNorm::one, MatrixNorm::infinity}) {
    expect_same(matrix_norm(a, kind), matrix_norm(there, kind), 1e-5, "norm");
  }
}

}  // namespace vectis::test
