// Golden files: compares a text with tests/golden/<name>; VECTIS_TEST_UPDATE_GOLDEN=1 rewrites the file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace vectis::test {

inline void expect_golden(const std::string& name, const std::string& actual) {
  const char* const folder = std::getenv("VECTIS_TEST_GOLDEN_FOLDER");  // set by the test program's main
  ASSERT_NE(folder, nullptr);
  const std::string path = std::string(folder) + "/" + name;
  if (std::getenv("VECTIS_TEST_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "differs from " << path
                                    << "; if it should, run again with VECTIS_TEST_UPDATE_GOLDEN=1";
}

}  // namespace vectis::test
