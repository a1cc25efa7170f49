// Times of one device: its index, and operations on data that is already there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/search/index.hpp"
#include "vectis/search/report.hpp"

namespace vectis::inline v0_1::detail {

// What indexes of all devices are measured with.
struct SampleSet {
  std::size_t dim = 0;
  std::vector<float> corpus;
  std::vector<float> queries;  // batch_queries of them
  std::vector<float> more;     // inserted_rows of them
};
[[nodiscard]] SampleSet make_samples(std::uint64_t seed, std::size_t rows, std::size_t dim);

// Hits of the batch, by query.
using Answers = std::vector<std::vector<Hit>>;

// "brute" on the CPU, "gpu" on a device, which becomes this thread's active one. Searches are held against `answers`,
// which are filled when they are empty.
[[nodiscard]] IndexSpeed measure_index(Runtime& runtime, const Device& device, const SampleSet& samples,
                                       Answers& answers);

// l2_distance of one query by precision, and products of matrices.
[[nodiscard]] std::vector<OperationSpeed> measure_operations(const Device& device, const SampleSet& samples);

}  // namespace vectis::inline v0_1::detail
