// The directions in which vectors differ most.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// `count` directions of `dim` numbers, orthonormal, those in which `rows` (centred, at least one) differ most first, by
// a few rounds of subspace iteration: as good for what follows as eigenvectors, and the same for any number of threads.
[[nodiscard]] std::vector<float> leading_directions(Executor& executor, std::span<const float> rows, std::size_t dim,
                                                    std::size_t count);

}  // namespace vectis::inline v0_1::graph
