// Where arrays are computed: explanations, and the planner's choice.

#include "tests/arrays_devices/fixture.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

Tensor layer(std::span<const Tensor> x) { return tanh(matmul(x[0], x[1]) + 1); }

}  // namespace

TEST_P(EveryArrayDevice, ExplainsItsSteps) {
  const Tensor x = random_on_target({4, 3}).eval();
  const Tensor y = sort(tanh(matmul(x, x.transpose()) * 2 + 1).astype(DType::int32), 1);
  const std::string text = explain(y);
  const std::string device = target().label();
  EXPECT_THAT(text, testing::HasSubstr("(4, 4) int32 on " + device + ": "));
  EXPECT_THAT(text, testing::HasSubstr("4 operations in a pass"));
  EXPECT_THAT(text, testing::HasSubstr("multiply, add, tanh, astype"));
  EXPECT_THAT(text, testing::HasSubstr("view"));
  EXPECT_THAT(text, testing::HasSubstr("by the host, with copies"));  // a sort of int32
  EXPECT_FALSE(y.is_computed());
  y.eval();
  EXPECT_EQ(explain(y), "(4, 4) int32 on " + device + ": computed\n");
}

TEST_P(EveryArrayDevice, IsChosenByThePlanner) {
  const Tensor a = random_on_host({40, 30});
  const Tensor b = random_on_host({30, 20});
  const std::vector<double> expected = values_of(layer(std::vector{a, b}));
  for (const bool is_there : {false, true}) {
    const std::vector<Tensor> arguments =
        is_there ? std::vector{a.on(target()).eval(), b.on(target()).eval()} : std::vector{a, b};
    const Placed placed = on_fastest_device(layer, arguments, {.device = GetParam()});
    ASSERT_EQ(placed.choice.candidates.size(), 2U);
    EXPECT_THAT(placed.choice.explain(), testing::HasSubstr(target().label()));
    const std::vector<double> found = values_of(placed.value.on(host()));
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4);
    if (!is_there) {
      EXPECT_EQ(placed.value.device(), host());
    }
  }
  const std::vector<Tensor> wide = {a.astype(DType::float64), b.astype(DType::float64)};
  EXPECT_EQ(on_fastest_device(layer, wide, {.device = GetParam()}).choice.candidates.size(), 1U);
  EXPECT_ERROR((void)on_fastest_device(layer, {}), ErrorCode::invalid_input, "no arguments");
}

}  // namespace vectis::test
