// Random programs, with branches, loops, tables and packed elements, on the CPU vector VM, PoCL and lavapipe.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/ir/runners.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

// The number of programs; a soak sets a larger one.
std::size_t programs() {
  const char* text = std::getenv("VECTIS_IR_PROGRAMS");
  return text == nullptr ? 100 : std::strtoull(text, nullptr, 10);
}

Case random_case(std::uint64_t number) {
  Random random(seed() * 1000003 + number);
  ir::ProgramOptions options;
  options.steps = 4 + random.below(24);
  options.loops = number % 3 != 0;
  options.packed = number % 2 == 0;
  options.special = number % 5 == 4;
  Case one;
  one.function = ir::random_program(random, options);
  one.function.name = fmt::format("program_{}", number);
  one.count = std::array<std::size_t, 6>{1, 7, 63, 64, 65, 130}[random.below(6)];
  one.data = ir::random_data(one.function, one.count, random);
  return one;
}

class RandomPrograms : public testing::TestWithParam<std::string> {};

TEST_P(RandomPrograms, AreWithinTheInterpretersBounds) {
  constexpr std::size_t together = 50;  // in one run of the device's compiler
  const auto runner = make_runner(GetParam());
  Tally tally;
  for (std::size_t first = 0; first < programs(); first += together) {
    std::vector<Case> cases;
    for (std::size_t i = first; i < std::min(first + together, programs()); ++i) cases.push_back(random_case(i));
    const std::vector<Outputs> outputs = runner->run(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) judge(cases[i], outputs[i], runner->accuracy(), tally);
    if (HasFailure()) break;
  }
  std::cout << fmt::format(
      "ir-programs {{\"device\": \"{}\", \"programs\": {}, \"elements\": {}, \"exact\": {}, \"undecided\": {:.4f}, "
      "\"refused\": {}, \"worst_error_over_bound\": {:.4f}}}\n",
      GetParam(), tally.programs, tally.elements, tally.exact,
      static_cast<double>(tally.undecided) / static_cast<double>(std::max<std::size_t>(tally.elements, 1)),
      tally.rejected, tally.worst);
  EXPECT_EQ(tally.rejected, 0U);
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomPrograms, testing::ValuesIn(runner_names()),
                         [](const auto& test) { return test.param; });

// A result depends on its element alone: compares the same elements in calls of different sizes.
TEST(CpuPrograms, ResultsDoNotDependOnThePosition) {
  const auto runner = make_cpu_runner();
  for (std::uint64_t number = 0; number < 20; ++number) {
    Case whole = random_case(number);
    Random random(seed() + number);
    whole.count = 5000;
    whole.data = ir::random_data(whole.function, whole.count, random);
    Case part = whole;
    part.count = 1 + random.below(whole.count);
    const std::vector<Outputs> outputs = runner->run({whole, part});
    for (std::size_t o = 0; o < outputs[0].size(); ++o) {
      const std::size_t bytes = part.count * 4 / lanes(whole.function.outputs[o].element);
      EXPECT_TRUE(std::equal(outputs[0][o].begin(), outputs[0][o].begin() + static_cast<std::ptrdiff_t>(bytes),
                             outputs[1][o].begin()))
          << part.count << " of " << whole.count << " elements\n"
          << ir::to_text(whole.function);
    }
  }
}

}  // namespace
}  // namespace vectis::test
