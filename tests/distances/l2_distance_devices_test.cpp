// l2_distance on every device that computes, against double precision.
#include <gtest/gtest.h>

#include "tests/devices/fixture.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/search/l2_distance.hpp"

namespace vectis {
namespace {

using test::Floats;

class L2DistanceDevices : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  Random random{test::seed()};
};

TEST_P(L2DistanceDevices, IsNearTheTruth) {
  const std::size_t dim = 37;
  const Floats queries = test::random_rows(random, 5, dim);
  const Floats corpus = test::random_rows(random, 70, dim);
  const int id = device(GetParam()).id();
  for (const auto& [precision, most] :
       {std::pair(Precision::fp32, 1e-5), {Precision::fp16, 1e-2}, {Precision::bf16, 0.2}, {Precision::int8, 0.2}}) {
    const Floats found = l2_distance(queries, corpus, dim, 5, 70, id, precision, runtime());
    ASSERT_EQ(found.size(), 350U);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i],
                  exact_distance(Metric::l2, std::span(queries).subspan(i / 70 * dim, dim),
                                 std::span(corpus).subspan(i % 70 * dim, dim)),
                  most)
          << name(precision) << " " << i;
    }
  }
}

TEST_P(L2DistanceDevices, IsAskedOfTheActiveDevice) {
  set_active_device(device(GetParam()).id(), runtime());
  EXPECT_EQ(l2_distance(Floats{0, 0}, Floats{3, 4, 6, 8}, 2, 1, 2, std::nullopt, Precision::fp32, runtime()),
            (Floats{5, 10}));
}

INSTANTIATE_TEST_SUITE_P(Devices, L2DistanceDevices, testing::ValuesIn(test::computing_devices()), test::case_name);

}  // namespace
}  // namespace vectis
