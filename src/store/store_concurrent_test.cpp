#include <gtest/gtest.h>

#include "tests/support/store_mixed_work.hpp"

namespace vectis {
namespace {

TEST(StoreConcurrent, ThreadsOfMixedWorkAgreeWithTheirModels) {
  Runtime runtime;
  for (const std::string& kind : test::kinds_for(runtime, Distance::euclidean)) {
    test::MixedWork work(runtime, {.index = kind}, [](const Error&) { return false; });
    work.run(120);
    work.expect_all();
  }
}

}  // namespace
}  // namespace vectis
