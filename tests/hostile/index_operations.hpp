// The operations of an index that pairs are made of, each with checks that hold exactly beside any other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/hostile/scene.hpp"

namespace vectis::test {

struct IndexOperation {
  const char* name;
  int repeats;  // in one run, so that operations of different cost take about as long
  void (*act)(Scene& scene, Actor& actor);
  bool lossy = false;        // drops full precision
  bool requantizes = false;  // rounds vectors without full precision again
};

// Returns all operations, in a fixed order.
std::span<const IndexOperation> index_operations();

// Compares the index with what both threads did; nothing else runs.
void check_end(Scene& scene, std::span<const Actor> actors);

}  // namespace vectis::test
