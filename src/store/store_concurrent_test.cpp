#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/store_mixed_work.hpp"

namespace vectis {
namespace {

// One test per index kind, so that each reports by itself.
class StoreConcurrent : public testing::TestWithParam<const char*> {};

TEST_P(StoreConcurrent, MixedWorkAgreesWithModels) {
  Runtime runtime;
  const auto kinds = test::kinds_for(runtime, Metric::l2);
  if (std::ranges::find(kinds, GetParam()) == kinds.end()) GTEST_SKIP() << GetParam() << " is not here";
  test::MixedWork work(runtime, {.index = GetParam()}, [](const Error&) { return false; });
  work.run(120);
  work.expect_all();
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreConcurrent, testing::Values("flat", "gpu", "auto", "graph"),
                         [](const testing::TestParamInfo<const char*>& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace vectis
