// The conformance suite on the test driver, its delays on.
#include "vectis/kernel/conformance.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/cuda/steering.hpp"
#include "tests/devices/fixture.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

class OnTheTestDriver : public DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  OnTheTestDriver() : driver(driver_of(GetParam())) { driver.set_order(seed() | 1U); }
  ~OnTheTestDriver() override { EXPECT_EQ(driver.violations(), 0) << driver.last_violation(); }

  const VectisTestDriver& driver;
};

// VECTIS_TEST_CONFORMANCE=whole takes every operation and all its shapes in all layouts.
bool whole() {
  const char* wanted = std::getenv("VECTIS_TEST_CONFORMANCE");
  return wanted != nullptr && std::string(wanted) == "whole";
}

// What every commit is put through: one of each way to compute on CUDA, and on HIP what differs from it.
std::string some_operations(const std::string& backend) {
  if (backend == "hip") return "copy|fill|map|matmul|sum_rows|streams|transpose";
  return "argmax_rows|copy|fill|gather|l2_distance|map|matmul|max|mean_rows|memory|norm|scatter|streams|sum|"
         "tighten_bounds|top_k|transpose";
}

TEST_P(OnTheTestDriver, ConformancePasses) {
  conformance::Options options;
  options.seed = seed();
  if (!whole()) options.operations = some_operations(GetParam());
  options.reach = whole() ? conformance::Reach::standard : conformance::Reach::slice;
  const conformance::Report report = conformance::test(runtime(), device(GetParam()), options);
  for (const conformance::Failure& failure : report.failures) {
    ADD_FAILURE() << failure.operation << ' ' << failure.case_name << ": " << failure.what;
  }
  std::cout << report.device << ": " << report.cases() << " cases, " << report.failed() << " failures\n";
  EXPECT_TRUE(report.passed());
}

INSTANTIATE_TEST_SUITE_P(Backends, OnTheTestDriver, testing::ValuesIn(test_driver_backends()), case_name);

}  // namespace
}  // namespace vectis::test
