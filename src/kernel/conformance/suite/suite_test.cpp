// The suite judged by a second implementation: what is right passes, and whatever is changed in it is seen.
#include "kernel/conformance/suite/suite.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "kernel/conformance/suite/naive.hpp"
#include "kernel/conformance/suite/operand.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::conformance {
namespace {

TEST(ConformanceValues, EveryBitPatternOfSmallTypesAgreesWithBase) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float half = to_float(Half{static_cast<std::uint16_t>(bits)});
    const float brain = to_float(Bfloat16{static_cast<std::uint16_t>(bits)});
    ASSERT_TRUE(value_of(DType::float16, bits) == half || (half != half && is_nan(DType::float16, bits))) << bits;
    ASSERT_TRUE(value_of(DType::bfloat16, bits) == brain || (brain != brain && is_nan(DType::bfloat16, bits))) << bits;
    if (half == half) {
      ASSERT_EQ(bits_of(DType::float16, half), bits);
    }
    if (brain == brain) {
      ASSERT_EQ(bits_of(DType::bfloat16, brain), bits);
    }
  }
}

TEST(ConformanceValues, RoundingAgreesWithTheHostAndBase) {
  Random random(test::seed());
  for (int i = 0; i < 200'000; ++i) {
    const double wide = std::bit_cast<double>(random.next());
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (wide == wide) {
      ASSERT_EQ(bits_of(DType::float32, wide), std::bit_cast<std::uint32_t>(static_cast<float>(wide))) << wide;
    }
    if (narrow != narrow) continue;
    ASSERT_EQ(value_of(DType::float32, std::bit_cast<std::uint32_t>(narrow)), narrow);
    ASSERT_EQ(bits_of(DType::float16, narrow), to_half(narrow).bits) << narrow;
    ASSERT_EQ(bits_of(DType::bfloat16, narrow), to_bfloat16(narrow).bits) << narrow;
  }
  EXPECT_EQ(bits_of(DType::int8, 2.5), 2U);
  EXPECT_EQ(bits_of(DType::int8, 3.5), 4U);
  EXPECT_EQ(bits_of(DType::int8, -1e9), 0x80U);
  EXPECT_EQ(bits_of(DType::int8, NAN), 0U);
  EXPECT_EQ(bits_of(DType::int32, 1e30), 0x7FFFFFFFU);
}

TEST(ConformanceOperand, NeighborsAreAllBytesOutsideTheView) {
  Random random(test::seed());
  for (const Layout layout : {Layout::tight, Layout::offset, Layout::strided, Layout::unaligned}) {
    for (const DType type : {DType::int8, DType::float16, DType::float32}) {
      const Operand before(type, {5, 7}, layout, random);
      std::set<std::uint64_t> inside;
      for (std::uint64_t i = 0; i < 5; ++i) {
        for (std::uint64_t k = 0; k < 7 * size_of(type); ++k) {
          inside.insert((before.offset() + i * before.stride()) * size_of(type) + k);
        }
      }
      for (std::uint64_t byte = 0; byte < before.bytes().size(); ++byte) {
        Operand after = before;
        after.bytes()[byte] ^= std::byte{1};
        const auto changed = after.changed_neighbor(before);
        ASSERT_EQ(changed.has_value(), !inside.contains(byte)) << name(layout) << byte;
        ASSERT_EQ(after.changed_byte(before), byte);
      }
    }
  }
}

class ConformanceReference : public testing::TestWithParam<const Subject*> {
 protected:
  const Subject& subject() const { return *GetParam(); }
  Verdict judged(const Case& one, const Problem& problem, std::span<const Operand> after) {
    return judge(executor_, subject(), one, problem, after);
  }

 private:
  SimulatedExecutor executor_{1};
};

constexpr std::uint64_t work_max = 350'000;  // of the second implementation, for one case

std::uint64_t work(const Case& one) {
  std::uint64_t product = 1;
  for (const std::uint64_t dimension : one.dimensions) product *= std::max<std::uint64_t>(dimension, 1);
  return product;
}

TEST_P(ConformanceReference, AgreesWithASecondImplementation) {
  for (const TypeSet& types : subject().type_sets) {
    for (const Case& one : cases_of(subject(), types, Coverage::slice)) {
      if (work(one) > work_max) continue;
      const Problem problem = make_problem(subject(), one, test::seed());
      const auto after = second::naive(subject().operation, problem);
      const Verdict verdict = judged(one, problem, after);
      ASSERT_EQ(verdict.failure, "") << name(one);
    }
  }
}

// A difference no reference may let pass: sums of long rows are coarser than 1, and what is counted up to a limit of
// floating point may lie on it.
double wrong_by(const Case& one, DType type) {
  if (one.dimensions.back() > 10'000) return 1e6;
  return type == DType::int32 ? 3 : 1;
}

TEST_P(ConformanceReference, DetectsOneWrongElementAndOneWrongNeighbor) {
  Random random(test::seed());
  for (const TypeSet& types : subject().type_sets) {
    const Case one{&types, subject().medium, Layout::unaligned, subject().data.front(), subject().parameters.front()};
    const Problem problem = make_problem(subject(), one, test::seed());
    const auto right = second::naive(subject().operation, problem);
    for (const std::size_t output : subject().outputs) {
      auto wrong = right;
      Operand& operand = wrong[output];
      std::uint64_t row = 0;
      std::uint64_t column = 0;
      do {  // a NaN with other bits is as good
        row = random.below(operand.rows());
        column = random.below(operand.columns());
      } while (std::isnan(operand.value(row, column)));
      const std::uint32_t bits = operand.bits(row, column);
      const double much = wrong_by(one, operand.type());
      if (types.limit > 0) operand.set(row, column, operand.value(row, column) + much);
      if (types.limit == 0) operand.set_bits(row, column, bits ^ 1U);
      EXPECT_NE(judged(one, problem, wrong).failure, "") << name(one);
      wrong = right;
      wrong[output].bytes().back() ^= std::byte{1};
      EXPECT_NE(judged(one, problem, wrong).failure, "") << name(one);
    }
    auto wrong = right;
    if (subject().outputs.front() != 0) {
      wrong[0].bytes().front() ^= std::byte{1};
      EXPECT_NE(judged(one, problem, wrong).failure, "") << name(one);
    }
  }
}

TEST_P(ConformanceReference, ACaseNameReproducesTheCase) {
  Random random(test::seed());
  for (int i = 0; i < 100; ++i) {
    const Case one = random_case(subject(), random);
    const Case again = parse_case(subject(), name(one));
    ASSERT_EQ(name(again), name(one));
    if (i > 1) continue;
    const Problem problem = make_problem(subject(), one, 7);
    const Problem repeated = make_problem(subject(), again, 7);
    for (std::size_t k = 0; k < problem.operands.size(); ++k) {
      ASSERT_TRUE(problem.operands[k].bytes() == repeated.operands[k].bytes());
    }
  }
  EXPECT_ERROR(parse_case(subject(), "nonsense"), ErrorCode::invalid_input, "is no case of " + subject().operation);
}

std::vector<const Subject*> all_subjects() {
  std::vector<const Subject*> all;
  for (const Subject& subject : whole_suite().subjects) all.push_back(&subject);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Every, ConformanceReference, testing::ValuesIn(all_subjects()),
                         [](const auto& made) { return made.param->operation + "_" + std::to_string(made.index); });

TEST(ConformanceSelection, NamesMatchAsAWhole) {
  Options options;
  options.operations = "sum";
  EXPECT_EQ(names(options), std::vector<std::string>{"sum"});
  options.operations = "sum.*";
  EXPECT_EQ(names(options), (std::vector<std::string>{"sum", "sum_rows"}));
  options.operations = "su(";
  EXPECT_ERROR(names(options), ErrorCode::invalid_input, "not a regular expression");
  options.operations = "nothing";
  EXPECT_ERROR(names(options), ErrorCode::invalid_input, "no operation matches 'nothing'");
}

}  // namespace
}  // namespace vectis::conformance
