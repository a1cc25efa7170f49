// The benchmarks of a device report, and the targets their results are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/search/index.hpp"
#include "vectis/search/report.hpp"

namespace vectis::inline v0_1::detail {

constexpr std::size_t target_rows = 1'000'000;  // the targets for searches are stated for this many vectors
constexpr std::size_t target_dim = 128;         // of this many dimensions
constexpr std::size_t batch_queries = 100;
constexpr std::size_t inserted_rows = 10'000;

// The vectors that every index is measured with.
struct SampleSet {
  std::size_t dim = 0;
  std::vector<float> corpus;
  std::vector<float> queries;   // batch_queries vectors
  std::vector<float> inserted;  // inserted_rows vectors
};
[[nodiscard]] SampleSet make_samples(std::uint64_t seed, std::size_t rows, std::size_t dim);

// The hits of each query of the batch.
using Answers = std::vector<std::vector<Hit>>;

// Measures an index of kind "flat" on the CPU, or of kind "gpu" on another device, which becomes the thread's active
// device. Compares the hits with `answers`; when `answers` is empty, stores the hits there instead.
[[nodiscard]] IndexSpeed measure_index(Runtime& runtime, const Device& device, const SampleSet& samples,
                                       Answers& answers);

// Measures l2_distance of one query at each precision, and matrix products.
[[nodiscard]] std::vector<OperationSpeed> measure_operations(const Device& device, const SampleSet& samples);

// Returns every performance target of the project with the value that `report` measured, or why it does not apply.
[[nodiscard]] std::vector<TargetResult> evaluate_targets(const DeviceReport& report);

}  // namespace vectis::inline v0_1::detail
