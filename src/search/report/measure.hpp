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

// The random vectors with which every index of one report is measured. Plain data.
struct SampleSet {
  std::size_t dim = 0;
  std::vector<float> corpus;
  std::vector<float> queries;   // batch_queries vectors
  std::vector<float> inserted;  // inserted_rows vectors
};
// Draws `rows` vectors, batch_queries queries and inserted_rows vectors to insert; equal seeds draw equal vectors.
// Preconditions: dim >= 1. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] SampleSet make_samples(std::uint64_t seed, std::size_t rows, std::size_t dim);

// The hits of each query of SampleSet::queries, nearest first.
using Answers = std::vector<std::vector<Hit>>;

// Measures an index of kind "flat" on the CPU, or of kind "gpu" on another device, which becomes the thread's active
// device. Compares the hits with `answers`; stores the first hits there when `answers` is empty. Throws InvalidInput
// when samples.dim is not 1 to 65,536, and the errors of the device. Predicts the times of searches with `rates`, if
// given.
[[nodiscard]] IndexSpeed measure_index(Runtime& runtime, const Device& device, const SampleSet& samples,
                                       Answers& answers, const ModelRates* rates = nullptr);

// Returns the seconds in which an index of kind "graph" on `device` takes all vectors of the samples and answers one
// query. Throws InvalidInput when samples.dim is not 1 to 65,536, and the errors of the device.
[[nodiscard]] double measure_graph(Runtime& runtime, const Device& device, const SampleSet& samples);

// Measures l2_distance of one query at fp32, fp16 and int8, and matrix products of growing size. An operation that
// fails with Allocation or Unsupported, or would take too long, is returned as skipped; throws every other error of
// the device. Predicts their times with `rates`, if given.
[[nodiscard]] std::vector<OperationSpeed> measure_operations(Runtime& runtime, const Device& device,
                                                             const SampleSet& samples,
                                                             const ModelRates* rates = nullptr);

// Returns every performance target of the project with the value that `report` measured and the verdict. A target
// that is stated for other devices or sizes, or that was not measured, has the verdict not_applicable and a reason.
[[nodiscard]] std::vector<TargetResult> evaluate_targets(const DeviceReport& report);

}  // namespace vectis::inline v0_1::detail
