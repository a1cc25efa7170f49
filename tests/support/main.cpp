// The main of every test program: sets the environment its CMakeLists names, so that a test run by hand is the test
// that ctest runs, and prints the seed of what is random.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace {

// A variable already set by the caller stays.
void set_default(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  setenv(assignment.substr(0, equals).c_str(), assignment.substr(equals + 1).c_str(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* const* assignment = vectis::test::environment; *assignment != nullptr; ++assignment) {
    set_default(*assignment);
  }
  // Tests do not open drivers of GPU vendors. Tests of the test driver set its path in their environment.
  set_default("VECTIS_BACKENDS_CUDA_DRIVER=none");
  set_default("VECTIS_BACKENDS_HIP_DRIVER=none");
  set_default("VECTIS_CACHE_PATH=off");  // tests must not write to the user's cache
  testing::InitGoogleMock(&argc, argv);
  std::cout << "VECTIS_TEST_SEED=" << vectis::test::seed() << '\n';
  return RUN_ALL_TESTS();
}
