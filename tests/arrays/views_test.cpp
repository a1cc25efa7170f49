// Shapes, slices and joins against indices computed one by one.

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

}  // namespace

// Applies random views one after the other to an array and to the reference.
TEST(ArrayViews, RandomSequencesAgreeWithTheReference) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 300; ++round) {
    Dense expected = random_dense(random, random_shape(random));
    Tensor found = expected.tensor();
    std::string what = "round " + std::to_string(round);
    for (int step = 0; step < 5; ++step) {
      const Shape shape = expected.shape;
      const auto rank = static_cast<std::int64_t>(shape.rank());
      const std::int64_t axis = rank == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rank));
      const auto at = static_cast<std::size_t>(axis);
      switch (random() % 7) {
        case 0: {
          Shape order(shape.rank(), 0);
          std::iota(order.begin(), order.end(), 0);
          std::shuffle(order.begin(), order.end(), random);
          Shape permuted;
          for (const std::int64_t from : order) permuted.push_back(shape[static_cast<std::size_t>(from)]);
          found = permute_dims(found, order);
          expected = dense(permuted, [&](const Shape& i) {
            Shape source(shape.rank(), 0);
            for (std::size_t k = 0; k < order.rank(); ++k) source[static_cast<std::size_t>(order[k])] = i[k];
            return expected.at(source);
          });
          what += ", permute";
          break;
        }
        case 1: {
          if (rank == 0) break;
          const std::int64_t extent = shape[at];
          Range range{.step = static_cast<std::int64_t>(random() % 5) - 2};
          if (range.step == 0) range.step = 3;
          if (random() % 2 == 0) range.start = static_cast<std::int64_t>(random() % 12) - 6;
          if (random() % 2 == 0) range.stop = static_cast<std::int64_t>(random() % 12) - 6;
          std::vector<std::int64_t> kept;  // as Python's range over clamped bounds
          const auto bound = [&](std::int64_t value) {
            if (value < 0) value += extent;
            return range.step > 0 ? std::clamp<std::int64_t>(value, 0, extent)
                                  : std::clamp<std::int64_t>(value, -1, extent - 1);
          };
          const std::int64_t first = range.start ? bound(*range.start) : range.step > 0 ? 0 : extent - 1;
          const std::int64_t last = range.stop ? bound(*range.stop) : range.step > 0 ? extent : -1;
          for (std::int64_t i = first; range.step > 0 ? i < last : i > last; i += range.step) kept.push_back(i);
          Shape sliced = shape;
          sliced[at] = static_cast<std::int64_t>(kept.size());
          found = slice(found, axis, range);
          expected = dense(sliced, [&](const Shape& i) {
            Shape source = i;
            source[at] = kept[static_cast<std::size_t>(i[at])];
            return expected.at(source);
          });
          what += ", slice";
          break;
        }
        case 2: {
          Shape wide = shape;
          wide.insert(0, 2);
          found = broadcast_to(found, wide);
          expected = dense(wide, [&](const Shape& i) {
            Shape source = i;
            source.erase(0);
            return expected.at(source);
          });
          what += ", broadcast";
          break;
        }
        case 3:
          found = reshape(found, {-1});
          expected.shape = {expected.elements()};
          what += ", flatten";
          break;
        case 4: {
          if (rank == 0) break;
          std::vector<std::pair<std::int64_t, std::int64_t>> widths(shape.rank(), {0, 0});
          widths[at] = {1, 2};
          Shape padded = shape;
          padded[at] += 3;
          found = pad(found, widths, 9);
          expected = dense(padded, [&](const Shape& i) {
            Shape source = i;
            source[at] -= 1;
            return source[at] < 0 || source[at] >= shape[at] ? 9 : expected.at(source);
          });
          what += ", pad";
          break;
        }
        case 5: {
          if (rank == 0) break;
          Shape twice = shape;
          twice[at] *= 2;
          found = concat(std::vector{found, found + 1}, axis);
          expected = dense(twice, [&](const Shape& i) {
            Shape source = i;
            source[at] %= std::max<std::int64_t>(shape[at], 1);
            return expected.at(source) + (i[at] >= shape[at] ? 1 : 0);
          });
          what += ", concat";
          break;
        }
        default:
          found = found * 2;  // a value that is stored anew
          for (double& value : expected.values) value *= 2;
      }
      if (expected.elements() > 20000) break;
    }
    expect_equal(found, expected, what);
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayViews, ShareMemory) {
  const Tensor x = arange(0, 12).reshape({3, 4});
  expect_equal(x.transpose()[1], {{3}, {1, 5, 9}}, "column");
  expect_equal(flip(x, {0})[0], {{4}, {8, 9, 10, 11}}, "flipped");
  expect_equal(squeeze(expand_dims(x, 1), {1}), {{3, 4}, values_of(x)}, "squeezed");
  expect_equal(moveaxis(zeros({2, 3, 4}), 0, -1), {{3, 4, 2}, std::vector<double>(24, 0)}, "moved");
}

TEST(ArrayViews, MadeOfOthers) {
  const Tensor x = arange(0, 4).reshape({2, 2});
  expect_equal(tile(x, {2, 1}), {{4, 2}, {0, 1, 2, 3, 0, 1, 2, 3}}, "tile");
  expect_equal(repeat(x, 2, 1), {{2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}}, "repeat");
  expect_equal(roll(arange(0, 5), 2, 0), {{5}, {3, 4, 0, 1, 2}}, "roll");
  expect_equal(stack(std::vector{x[0], x[1]}, 1), {{2, 2}, {0, 2, 1, 3}}, "stack");
  expect_equal(split(x, 2, 1)[1], {{2, 1}, {1, 3}}, "split");
  expect_equal(tril(ones({2, 3})), {{2, 3}, {1, 0, 0, 1, 1, 0}}, "tril");
  expect_equal(triu(ones({2, 3}), 1), {{2, 3}, {0, 1, 1, 0, 0, 1}}, "triu");
  expect_equal(eye(2, 3, 1), {{2, 3}, {0, 1, 0, 0, 0, 1}}, "eye");
  expect_near(linspace(0, 1, 5), {{5}, {0, 0.25, 0.5, 0.75, 1}}, 0, "linspace");
  expect_equal(arange(5, 0, -2), {{3}, {5, 3, 1}}, "arange");
  expect_equal(arange(0, 0), {{0}, {}}, "arange of nothing");
}

TEST(ArrayViews, HaveUpToSixtyFourAxes) {
  const Tensor x = arange(0, 2)
                       .reshape([] {
                         Shape ones(31, 1);
                         ones[30] = 2;
                         return ones;
                       }())
                       .reshape({2});
  expect_equal(x, {{2}, {0, 1}}, "many axes");
  Shape many(40, 1);
  many[20] = 3;
  const Tensor deep = arange(0, 3).reshape(many) + ones(many);
  expect_equal(sum(deep), {{}, {6}}, "40 axes");
}

// Large arrays are copied in tiles.
TEST(ArrayViews, LargeTransposesAgreeWithTheReference) {
  std::mt19937_64 random(seed());
  for (const DType type : {DType::float64, DType::float32, DType::float16, DType::int8}) {
    const Dense x = dense({9, 70, 33}, [&](const Shape&) { return static_cast<double>(random() % 100); });
    for (const Shape& axes : {Shape{0, 2, 1}, Shape{2, 1, 0}, Shape{1, 2, 0}, Shape{2, 0, 1}}) {
      Shape permuted;
      for (const std::int64_t axis : axes) permuted.push_back(x.shape[static_cast<std::size_t>(axis)]);
      const Dense expected = dense(permuted, [&](const Shape& i) {
        Shape source(3, 0);
        for (std::size_t k = 0; k < 3; ++k) source[static_cast<std::size_t>(axes[k])] = i[k];
        return x.at(source) + 1;
      });
      const Tensor found = permute_dims(x.tensor().astype(type), axes);
      expect_equal(found + 1, expected, "sum of " + to_string(axes));
      expect_equal(flatten(found + 0).reshape(permuted) + 1, expected, "flattened " + to_string(axes));
    }
  }
}

}  // namespace vectis::test
