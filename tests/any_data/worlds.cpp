#include "tests/any_data/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace vectis::test {

namespace {

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(6.283185307179586 * random.unit());
}

Floats noise(Random& random, std::size_t rows, std::size_t dim) {
  Floats result(rows * dim);
  for (float& x : result) x = static_cast<float>(normal(random));
  return result;
}

// Adds `factor` times the row `place` of `centers` to `weight` times the row.
void move_row(std::span<float> row, float weight, std::span<const float> centers, std::size_t place, float factor) {
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = weight * row[j] + factor * centers[place * row.size() + j];
}

// Each changes rows of normal noise in place.
using Shape = std::function<void(Random&, std::span<float> rows, std::size_t dim)>;

template <class RowShape>
void for_each_row(std::span<float> rows, std::size_t dim, const RowShape& shape) {
  for (std::size_t at = 0; at < rows.size(); at += dim) shape(rows.subspan(at, dim));
}

// Half of the rows are almost equal to one of a few.
void far_groups(Random& random, std::span<float> rows, std::size_t dim) {
  constexpr std::size_t groups = 20;
  const Floats centers = noise(random, groups, dim);
  for_each_row(rows, dim, [&](std::span<float> row) {
    if (random.below(2) == 0) move_row(row, 1e-5F, centers, random.below(groups), 3);
  });
}

void skewed_clusters(Random& random, std::span<float> rows, std::size_t dim) {
  constexpr std::size_t clusters = 60;
  const Floats centers = noise(random, clusters, dim);
  for_each_row(rows, dim, [&](std::span<float> row) {
    move_row(row, 1, centers, random.below(clusters) * random.below(clusters) / clusters, 4);
  });
}

// A curved surface of six dimensions.
void surface(Random& random, std::span<float> rows, std::size_t dim) {
  constexpr std::size_t inner = 6;
  const Floats directions = noise(random, inner, dim);
  for_each_row(rows, dim, [&](std::span<float> row) {
    for (float& x : row) x *= 0.01F;
    for (std::size_t i = 0; i < inner; ++i) {
      move_row(row, 1, directions, i, static_cast<float>(std::sin(normal(random) + static_cast<double>(i))));
    }
  });
}

void varied_lengths(Random& random, std::span<float> rows, std::size_t dim) {
  for_each_row(rows, dim, [&](std::span<float> row) {
    const auto length = static_cast<float>(std::exp(1.5 * normal(random)));
    for (float& x : row) x *= length;
  });
}

// Twenty copies of each vector on average, a third of them with small differences.
void copies(Random& random, std::span<float> rows, std::size_t dim) {
  const std::size_t distinct = rows.size() / dim / 20 + 1;
  const Floats originals = noise(random, distinct, dim);
  for_each_row(rows, dim, [&](std::span<float> row) {
    move_row(row, random.below(3) == 0 ? 1e-3F : 0.0F, originals, random.below(distinct), 1);
  });
}

// Most coordinates are zero, the others small integers: many distances are equal.
void small_integers(Random& random, std::span<float> rows, std::size_t /*dim*/) {
  for (float& x : rows) x = random.below(4) == 0 ? std::round(2 * x) : 0.0F;
}

// Variances that fall off fast, far from the origin.
void falling_spectrum(Random& /*random*/, std::span<float> rows, std::size_t dim) {
  for_each_row(rows, dim, [&](std::span<float> row) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = 100 + row[j] / static_cast<float>(1 + j);
  });
}

struct Family {
  std::string_view name;
  Shape shape;
};

const std::array families{Family{"noise", [](Random&, std::span<float>, std::size_t) {}},
                          Family{"far groups", far_groups},
                          Family{"skewed clusters", skewed_clusters},
                          Family{"surface", surface},
                          Family{"varied lengths", varied_lengths},
                          Family{"copies", copies},
                          Family{"small integers", small_integers},
                          Family{"falling spectrum", falling_spectrum}};

// The rows [begin, end) of a world.
struct RowRange {
  const Floats& rows;
  std::size_t dim;

  [[nodiscard]] MatrixView operator()(std::size_t begin, std::size_t end) const {
    return {rows.data() + begin * dim, end - begin, dim};
  }
  [[nodiscard]] std::size_t count() const { return rows.size() / dim; }
};

Ids ids_from(std::size_t first, std::size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

void add_in_steps(const RowRange& range, std::size_t step, Index& index) {
  for (std::size_t at = 0; at < range.count(); at += step) index.add(range(at, std::min(range.count(), at + step)));
}

void remove_half_and_refill(const RowRange& range, Index& index) {
  const std::size_t rows = range.count();
  index.add(range(0, rows));
  Ids ids;
  Floats removed;
  for (std::uint64_t id = 0; id < rows; id += 2) {
    const std::span<const float> row = range(id, id + 1).row(0);
    ids.push_back(id);
    removed.insert(removed.end(), row.begin(), row.end());
  }
  index.remove(ids);
  index.add(removed);
}

void remove_almost_all_and_refill(const RowRange& range, Index& index) {
  const std::size_t rows = range.count();
  index.add(range(0, rows));
  index.remove(ids_from(rows / 10, rows - rows / 10));
  index.add(range(rows / 10, rows));
}

void replace_in_rounds(const RowRange& range, Index& index) {
  const std::size_t rows = range.count();
  const std::size_t step = rows / 10;
  index.add(range(0, rows));
  for (std::size_t at = 0; at + step <= rows; at += step) {
    index.upsert(ids_from(rows - at - step, step), range(at, at + step));
  }
}

struct History {
  std::string_view name;
  std::function<void(const RowRange&, Index&)> changes;
};

const std::array histories{
    History{"at once", [](const RowRange& range, Index& index) { index.add(range(0, range.count())); }},
    History{"in two halves",
            [](const RowRange& range, Index& index) { add_in_steps(range, (range.count() + 1) / 2, index); }},
    History{"in hundreds", [](const RowRange& range, Index& index) { add_in_steps(range, 100, index); }},
    History{"sorted, in hundreds", [](const RowRange& range, Index& index) { add_in_steps(range, 100, index); }},
    History{"half removed and refilled", remove_half_and_refill},
    History{"removed to a tenth and refilled", remove_almost_all_and_refill},
    History{"replaced in ten rounds", replace_in_rounds}};

void sort_rows(Floats& rows, std::size_t dim) {
  std::vector<std::size_t> order(rows.size() / dim);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return rows[i * dim]; });
  Floats sorted;
  for (const std::size_t i : order) {
    const std::span<const float> row = std::span(rows).subspan(i * dim, dim);
    sorted.insert(sorted.end(), row.begin(), row.end());
  }
  rows = std::move(sorted);
}

}  // namespace

std::string World::describe() const {
  return fmt::format("world {}: {}, {} x {}, {}, {}", seed, family, rows, dim, name(metric), history);
}

World random_world(std::uint64_t seed) {
  constexpr std::array dims{std::size_t{4}, std::size_t{12}, std::size_t{32}, std::size_t{64}, std::size_t{150}};
  constexpr std::array metrics{Metric::l2, Metric::cosine, Metric::inner_product};
  constexpr double rows_min = 1100;
  constexpr double rows_ratio = 18;  // of the largest world to the smallest
  Random random(seed);
  World world;
  world.family = families[random.below(families.size())].name;
  world.history = histories[random.below(histories.size())].name;
  world.rows = static_cast<std::size_t>(rows_min * std::pow(rows_ratio, random.unit()));
  world.dim = dims[random.below(dims.size())];
  world.metric = metrics[random.below(metrics.size())];
  world.seed = seed;
  return world;
}

WorldData make_data(const World& world, std::size_t queries) {
  Random random(world.seed + 1);
  Floats all = noise(random, world.rows + queries, world.dim);
  std::ranges::find(families, world.family, &Family::name)->shape(random, all, world.dim);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(world.rows * world.dim);
  WorldData data{{all.begin(), end}, {end, all.end()}};
  if (world.history.starts_with("sorted")) sort_rows(data.rows, world.dim);
  return data;
}

void live_through(const World& world, const Floats& rows, Index& index) {
  std::ranges::find(histories, world.history, &History::name)->changes({rows, world.dim}, index);
}

}  // namespace vectis::test
