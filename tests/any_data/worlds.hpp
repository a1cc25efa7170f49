// Random worlds: data of one kind and size, queries of the same kind, and a history of changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/brute_force.hpp"
#include "vectis/base/random.hpp"
#include "vectis/search/index.hpp"

namespace vectis::test {

// What a world is like. Plain data.
struct World {
  std::string family;   // of the vectors
  std::string history;  // how they get into an index
  std::size_t rows = 0;
  std::size_t dim = 0;
  Metric metric = Metric::l2;
  std::uint64_t seed = 0;

  [[nodiscard]] std::string describe() const;
};

// Returns a world; every seed has its own.
[[nodiscard]] World random_world(std::uint64_t seed);

// The vectors of a world and queries of the same kind.
struct WorldData {
  Floats rows;
  Floats queries;
};
[[nodiscard]] WorldData make_data(const World& world, std::size_t queries);

// Brings the vectors of a world into an empty index by the changes of its history. Throws what the index throws.
void live_through(const World& world, const Floats& rows, Index& index);

}  // namespace vectis::test
