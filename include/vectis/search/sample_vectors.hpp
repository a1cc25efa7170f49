// Vectors to measure with, where nobody brought their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1 {

// Overlapping clusters of different width in few dimensions, projected to many: what embeddings look like. Equal seeds
// draw equal vectors. One thread at a time.
class VECTIS_API SampleVectors {
 public:
  SampleVectors(std::uint64_t seed, std::size_t dim);

  // Rows of `dim` floats, one after the other; each call goes on where the last one ended.
  [[nodiscard]] std::vector<float> draw(std::size_t rows);

 private:
  Random random_;
  std::size_t dim_;
  std::vector<float> centres_;
  std::vector<float> projection_;
  std::vector<float> widths_;
};

}  // namespace vectis::inline v0_1
