#include "vectis/search/l2_distance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "tests/support/brute_force.hpp"
#include "tests/support/deferred_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_os.hpp"
#include "tests/support/scripted_backend.hpp"
#include "tests/support/seed.hpp"
#include "vectis/search/metric.hpp"

namespace vectis {
namespace {

using test::Floats;

// `step` is how far a number may be rounded, relative to the largest.
struct Rounding {
  Precision precision;
  double step;
};
constexpr Rounding roundings[] = {
    {Precision::fp32, 0x1p-20}, {Precision::fp16, 0x1p-11}, {Precision::bf16, 0x1p-8}, {Precision::int8, 0.51 / 127}};

class L2DistanceTest : public testing::Test {
 protected:
  void expect_near_truth(const Rounding& rounding, std::size_t dim, std::size_t n_queries, std::size_t n_vectors,
                         float size) {
    SCOPED_TRACE(testing::Message() << name(rounding.precision) << " " << n_queries << " x " << n_vectors << " x "
                                    << dim << ", up to " << size);
    Floats queries = test::random_rows(random, n_queries, dim);
    Floats corpus = test::random_rows(random, n_vectors, dim);
    for (Floats* numbers : {&queries, &corpus}) {
      for (float& number : *numbers) number *= size;
    }
    const Floats found =
        l2_distance(queries, corpus, dim, n_queries, n_vectors, std::nullopt, rounding.precision, runtime);
    ASSERT_EQ(found.size(), n_queries * n_vectors);
    // Each coordinate of a difference is off by two roundings, up to twice the size: random_rows goes up to 2.
    const double most = 2 * rounding.step * 2 * double{size} * std::sqrt(static_cast<double>(dim));
    for (std::size_t i = 0; i < n_queries; ++i) {
      for (std::size_t j = 0; j < n_vectors; ++j) {
        const double truth = exact_distance(Metric::l2, std::span(queries).subspan(i * dim, dim),
                                            std::span(corpus).subspan(j * dim, dim));
        ASSERT_NEAR(found[i * n_vectors + j], truth, most + truth * 0x1p-16) << i << ", " << j;
      }
    }
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_F(L2DistanceTest, IsNearTheTruthAtEveryPrecision) {
  for (const Rounding& rounding : roundings) {
    for (const float size : {1.0F, 1e-3F, 1e5F}) {
      expect_near_truth(rounding, 1, 1, 1, size);
      expect_near_truth(rounding, 3, 5, 7, size);
      expect_near_truth(rounding, 128, 17, 33, size);
      expect_near_truth(rounding, 1000, 2, 65, size);
    }
  }
}

// Squares of these values overflow or vanish in single precision.
TEST_F(L2DistanceTest, IsNearTheTruthAtEveryMagnitude) {
  for (const Rounding& rounding : roundings) {
    for (const float size : {1e36F, 3e19F, 1e12F, 1e-13F, 1e-19F, 1e-25F, 1e-35F}) {
      expect_near_truth(rounding, 3, 5, 7, size);
      expect_near_truth(rounding, 128, 2, 9, size);
    }
  }
  const Floats mixed = l2_distance(Floats{1e-5F}, Floats{3e38F, 3e-5F}, 1, 1, 2, {}, Precision::fp32, runtime);
  EXPECT_FLOAT_EQ(mixed[0], 3e38F);
  EXPECT_FLOAT_EQ(mixed[1], 2e-5F) << "a small distance beside a large one";
}

TEST_F(L2DistanceTest, OfEqualVectorsIsZero) {
  const Floats row{0.1F, 0.2F, 0.3F};
  for (const Rounding& rounding : roundings) {
    EXPECT_EQ(l2_distance(row, row, 3, 1, 1, std::nullopt, rounding.precision, runtime), Floats{0});
    EXPECT_EQ(l2_distance(Floats(3), Floats(3), 3, 1, 1, std::nullopt, rounding.precision, runtime), Floats{0});
  }
}

TEST_F(L2DistanceTest, RejectsInvalidInput) {
  EXPECT_ERROR(l2_distance({}, {}, 3, 1, 1, {}, Precision::fp32, runtime), ErrorCode::invalid_input, "0 floats");
  EXPECT_ERROR(l2_distance(Floats{1, 2}, Floats{1, 2, 3}, 3, 1, 1, {}, Precision::fp32, runtime),
               ErrorCode::invalid_input, "queries have 2 floats, but 1 rows of dimension 3");
  EXPECT_ERROR(l2_distance(Floats{1, 2, 3}, Floats{1, 2}, 3, 1, 1, {}, Precision::fp32, runtime),
               ErrorCode::invalid_input, "vectors have 2 floats");
  for (const auto& [dim, rows, vectors] : {std::array{0UL, 1UL, 1UL}, {1UL, 0UL, 1UL}, {1UL, 1UL, 0UL}}) {
    EXPECT_ERROR(l2_distance(Floats{1}, Floats{1}, dim, rows, vectors, {}, Precision::fp32, runtime),
                 ErrorCode::invalid_input, "at least 1");
  }
  EXPECT_ERROR(l2_distance(Floats{1}, Floats{std::nanf("")}, 1, 1, 1, {}, Precision::fp32, runtime),
               ErrorCode::invalid_input, "row 0, coordinate 0");
  EXPECT_ERROR(l2_distance(Floats{1}, Floats{1}, 1, 1, 1, 77, Precision::fp32, runtime), ErrorCode::invalid_input,
               "77");
  EXPECT_ERROR(l2_distance(Floats{1}, Floats{1}, 1, 1, 1, {}, static_cast<Precision>(9), runtime),
               ErrorCode::invalid_input, "9 is no precision");
}

TEST_F(L2DistanceTest, RejectsSizesThatOverflow) {
  constexpr std::size_t half = std::size_t{1} << 63;
  EXPECT_ERROR(l2_distance(Floats{1}, Floats{1}, 2, half, 1, {}, Precision::fp32, runtime), ErrorCode::invalid_input,
               "9223372036854775808");
  EXPECT_ERROR(l2_distance(Floats{1}, Floats{1}, half, 1, 2, {}, Precision::fp32, runtime), ErrorCode::invalid_input,
               "address");
}

TEST_F(L2DistanceTest, MoreThanTheDeviceHoldsIsAnError) {
  const Floats rows(std::size_t{1} << 21);  // 2^42 distances, 16 TiB
  EXPECT_ERROR(l2_distance(rows, rows, 1, rows.size(), rows.size(), {}, Precision::fp32, runtime),
               ErrorCode::allocation, "4398046511104 distances", "queries at once");
}

// A device that allocates 1 MiB at most: 262,144 floats.
TEST(L2DistanceLimits, OperandsLargerThanTheDeviceAllocatesAreAnAllocationErrorWithWhatFits) {
  test::FakeOs os;
  test::ScriptedBackend<0>::install(os, "cuda").devices = {test::gpu("small")};
  RuntimeOptions options;
  options.os = &os;
  Runtime runtime(options);
  const auto distances = [&](std::size_t queries, std::size_t vectors, std::size_t dim) {
    return l2_distance(Floats(queries * dim), Floats(vectors * dim), dim, queries, vectors, 0, Precision::fp32,
                       runtime);
  };
  EXPECT_ERROR(distances(1, 4000, 100), ErrorCode::allocation, "4000 vectors of dimension 100 are 400000 floats",
               "cuda:0 allocates at most 262144", "pass at most 2621 vectors at once");
  EXPECT_ERROR(distances(4000, 1, 100), ErrorCode::allocation, "pass at most 2621 queries at once");
  EXPECT_ERROR(distances(1, 1, 300'000), ErrorCode::allocation, "not even one row fits");
  EXPECT_ERROR(distances(1000, 1000, 1), ErrorCode::allocation, "pass at most 262 queries at once");
}

// The copy of the scaled queries is enqueued, but nothing runs after it.
TEST(L2DistanceFailures, CopiesAreDoneWhenTheOperationAfterThemFails) {
  test::FakeOs os;
  test::DeferredBackend::install(os);
  test::DeferredBackend::operation = [](const VectisOpCall&) { return std::function<void()>(); };
  RuntimeOptions options;
  options.os = &os;
  Runtime runtime(options);
  EXPECT_ERROR(l2_distance(Floats(64, 3.0F), Floats(64, 5.0F), 16, 4, 4, 0, Precision::fp16, runtime),
               ErrorCode::driver_failure, "no more operations");
  EXPECT_EQ(test::DeferredBackend::changed, 0) << "a copy of floats that were freed";
  EXPECT_EQ(test::DeferredBackend::pending, 0);
}

}  // namespace
}  // namespace vectis
