// Synthetic vectors for benchmarks and tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1 {

// Draws from a mixture of 1,000 Gaussian clusters of different width in 32 dimensions, projected at random to `dim`
// dimensions, which resembles embeddings of low intrinsic dimension. Equal seeds draw equal vectors. Not thread-safe.
class VECTIS_API SampleVectors {
 public:
  // Draws the clusters and the projection from `seed`. `dim` should be at least 1; with 0 every vector is empty.
  // Throws std::bad_alloc when memory is exhausted.
  SampleVectors(std::uint64_t seed, std::size_t dim);

  // Returns `rows` vectors of `dim` floats, one after the other. Successive calls continue one random sequence, so
  // that draw(2) and draw(3) together are draw(5). Throws std::bad_alloc when memory is exhausted.
  [[nodiscard]] std::vector<float> draw(std::size_t rows);

 private:
  Random random_;
  std::size_t dim_;
  std::vector<float> centers_;
  std::vector<float> projection_;
  std::vector<float> widths_;
};

}  // namespace vectis::inline v0_1
