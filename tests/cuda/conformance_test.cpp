// The conformance suite on the test driver, with delayed work.
#include "vectis/kernel/conformance.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/cuda/steering.hpp"
#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

class OnTheTestDriver : public DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  OnTheTestDriver() : driver(driver_of(GetParam())) { driver.set_order(seed() | 1U); }
  ~OnTheTestDriver() override { EXPECT_EQ(driver.violations(), 0) << driver.last_violation(); }

  const VectisTestDriver& driver;
};

// VECTIS_TEST_CONFORMANCE=whole runs every operation with all shapes and layouts.
bool whole() {
  const char* wanted = std::getenv("VECTIS_TEST_CONFORMANCE");
  return wanted != nullptr && std::string(wanted) == "whole";
}

// The selection for every commit: one operation of each kind on CUDA, and what differs on HIP.
std::string some_operations(const std::string& backend) {
  if (backend == "hip") return "copy|fill|map|matmul|sum_rows|streams|transpose";
  return "argmax_rows|copy|fill|gather|l2_squared|map|matmul|max|mean_rows|memory|norm|scatter|streams|sum|"
         "tighten_bounds|top_k|transpose";
}

TEST_P(OnTheTestDriver, ConformancePasses) {
  conformance::Options options;
  options.seed = seed();
  if (!whole()) options.operations = some_operations(GetParam());
  options.coverage = whole() ? conformance::Coverage::standard : conformance::Coverage::slice;
  const conformance::Report report = conformance::test(runtime(), device(GetParam()), options);
  for (const conformance::Failure& failure : report.failures) {
    ADD_FAILURE() << failure.operation << ' ' << failure.case_name << ": " << failure.what;
  }
  std::cout << report.device << ": " << report.cases() << " cases, " << report.failed() << " failures\n";
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.complete());
}

// By the instruction of the device: all 65,536 values of float16, subnormal ones too.
TEST_P(OnTheTestDriver, EveryHalfIsConverted) {
  conformance::Options options;
  options.seed = seed();
  options.operations = "cast";
  options.case_name = "float16->float32:512x640/tight/bits";
  const conformance::Report report = conformance::test(runtime(), device(GetParam()), options);
  for (const conformance::Failure& failure : report.failures) ADD_FAILURE() << failure.what;
  EXPECT_EQ(report.cases(), 1U);
  EXPECT_TRUE(report.passed());
}

#if defined(VECTIS_HAS_CUDA)

std::uint32_t all_calls(const VectisTestDriver& library) {
  std::uint32_t sum = 0;
  for (std::uint32_t function = 0; function < library.function_count(); ++function) sum += library.calls(function);
  return sum;
}

// Every operation without NVRTC, by the embedded kernels; generated kernels are rejected.
TEST(WithoutNvrtc, OperationsPassWithEmbeddedKernels) {
  const VectisTestDriver& driver = driver_of("cuda");
  const VectisTestDriver& compiler = steering("VECTIS_BACKENDS_CUDA_COMPILER");
  driver.set_order(seed() | 1U);
  compiler.reset();
  RuntimeOptions without;
  without.settings["backends.cuda.compiler"] = "no-such-library.so";
  without.settings["cache_path"] = "off";
  Runtime runtime(without);
  const Device device = runtime.service<DeviceRegistry>().find("cuda").value();
  if (device.info().dialects.empty()) GTEST_SKIP() << "this plug-in was built without NVRTC and carries no kernels";
  conformance::Options options;
  options.seed = seed();
  if (!whole()) options.operations = "argmax_rows|l2_squared";
  options.coverage = whole() ? conformance::Coverage::standard : conformance::Coverage::slice;
  const conformance::Report report = conformance::test(runtime, device, options);
  for (const conformance::Failure& failure : report.failures) {
    ADD_FAILURE() << failure.operation << ' ' << failure.case_name << ": " << failure.what;
  }
  std::cout << "without NVRTC: " << report.cases() << " cases, " << report.failed() << " failures\n";
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.complete());
  EXPECT_GT(report.cases(), 100U);
  EXPECT_EQ(all_calls(compiler), 0U);
  EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  const DeviceContext context(device);
  EXPECT_ERROR(Program(context, "cuda-c++", "extern \"C\" __global__ void k() {}"), ErrorCode::no_compiler,
               "is no embedded kernel, and NVRTC cannot be used");
}

// Matrix products by cuBLASLt, whose test library computes them by plain loops and checks its arguments.
class ByCublasLt : public testing::Test {
 protected:
  ByCublasLt() { driver.set_order(seed() | 1U); }
  ~ByCublasLt() override {
    library.set("algorithms", 1);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
    EXPECT_EQ(library.violations(), 0) << library.last_violation();
  }
  std::uint32_t products() { return calls_of(library, "cublasLtMatmul"); }
  void expect_passed(const std::string& what) {
    RuntimeOptions with_library;
    with_library.settings["backends.cuda.blas"] = std::getenv("VECTIS_TEST_CUBLASLT");
    Runtime runtime(with_library);
    conformance::Options options;
    options.seed = seed();
    options.operations = "matmul";
    options.coverage = whole() ? conformance::Coverage::standard : conformance::Coverage::slice;
    const Device device = runtime.service<DeviceRegistry>().find("cuda").value();
    const conformance::Report report = conformance::test(runtime, device, options);
    for (const conformance::Failure& failure : report.failures) {
      ADD_FAILURE() << failure.operation << ' ' << failure.case_name << ": " << failure.what;
    }
    std::cout << what << ": " << report.cases() << " cases, " << products() << " products by cuBLASLt\n";
    EXPECT_TRUE(report.passed());
    EXPECT_TRUE(report.complete());
  }

  const VectisTestDriver& driver = driver_of("cuda");
  const VectisTestDriver& library = steering("VECTIS_TEST_CUBLASLT");
};

TEST_F(ByCublasLt, ProductsPass) {
  library.reset();
  expect_passed("products");
  EXPECT_GT(products(), 10U);
}

TEST_F(ByCublasLt, ProductsPassWithoutAnAlgorithm) {
  library.reset();
  library.set("algorithms", 0);
  expect_passed("products without algorithms");
  EXPECT_EQ(products(), 0U);
}

TEST_F(ByCublasLt, ProductsPassWhenItFails) {
  library.reset();
  library.fail_call("cublasLtCreate", 1, 3);
  expect_passed("products after a failed creation");
  EXPECT_EQ(library.struck(), 1);
  EXPECT_EQ(calls_of(library, "cublasLtCreate"), 1U) << "the failure is remembered";
  library.fail_call("cublasLtMatmul", 2, 13);
  expect_passed("products with one that fails");
  EXPECT_EQ(library.struck(), 1);
}

#endif

INSTANTIATE_TEST_SUITE_P(Backends, OnTheTestDriver, testing::ValuesIn(test_driver_backends()), case_name);

}  // namespace
}  // namespace vectis::test
