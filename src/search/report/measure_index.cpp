#include <algorithm>
#include <array>

#include "search/report/count_work.hpp"
#include "search/report/measure.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/plan/profile.hpp"
#include "vectis/search/sample_vectors.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t neighbors = 10;
constexpr std::size_t single_searches = 20;
constexpr std::size_t batch_rounds = 5;
constexpr std::array report_precisions = {Precision::fp32, Precision::fp16, Precision::int8};

template <class Work>
double seconds_of(const Work& work) {
  const std::uint64_t begin = monotonic_nanoseconds();
  work();
  return static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The shortest time that the device's measured peaks of arithmetic and memory allow, divided by the measured time.
double roofline_share(const DeviceProfile& peaks, const IndexStatistics& index, Precision precision, std::size_t dim,
                      std::size_t queries, double seconds) {
  const auto rows = static_cast<double>(index.vectors);
  const double own_rate = peaks.operations_per_second.at(precision);
  const double rate = own_rate > 0 ? own_rate : peaks.operations_per_second.fp32;
  const double operations = 2 * rows * static_cast<double>(dim) * static_cast<double>(queries);
  const double bytes = rows * static_cast<double>(index.scanned_bytes_per_vector);
  const double of_operations = rate > 0 ? operations / rate : 0;
  const double of_bytes = peaks.memory_bytes_per_second > 0 ? bytes / peaks.memory_bytes_per_second : 0;
  return seconds > 0 ? std::max(of_operations, of_bytes) / seconds : 0;
}

Answers answers_of(const SearchResult& found) {
  Answers answers;
  for (std::size_t query = 0; query < found.queries(); ++query) {
    answers.emplace_back(found[query].begin(), found[query].end());
  }
  return answers;
}

std::uint64_t count_wrong(const SearchResult& found, const Answers& answers) {
  std::uint64_t wrong = 0;
  for (std::size_t query = 0; query < answers.size(); ++query) {
    if (!std::ranges::equal(found[query], answers[query])) ++wrong;
  }
  return wrong;
}

// The device on which searches are measured.
struct SearchTarget {
  Runtime& runtime;
  const Device& device;
  const DeviceProfile& peaks;
  const ModelRates* rates;  // null: times are not predicted
};

// Searches for the first queries and predicts the time from what that enqueued.
JobPrediction predict_time(const SearchTarget& on, Index& index, Precision precision, const SampleSet& samples,
                           std::size_t queries) {
  if (on.rates == nullptr) return {};
  const EnqueuedWork work = count_work(on.runtime, on.device, [&] {
    static_cast<void>(index.search(std::span(samples.queries).first(queries * samples.dim), neighbors));
  });
  return predict_search(work, {precision, index.statistics().vectors, queries, samples.dim}, on.device, *on.rates);
}

SearchSpeed measure_searches(const SearchTarget& on, Index& index, Precision precision, const SampleSet& samples,
                             Answers& answers) {
  const DeviceProfile& peaks = on.peaks;
  index.set_precision(precision);
  const std::span<const float> queries = samples.queries;
  SearchResult found = index.search(queries, neighbors);  // copies the vectors to the device, compiles kernels
  if (answers.empty()) answers = answers_of(found);
  SearchSpeed speed;
  speed.precision = precision;
  speed.wrong = count_wrong(found, answers);
  std::vector<double> singles;
  singles.reserve(single_searches);
  static_cast<void>(index.search(queries.first(samples.dim), neighbors));
  for (std::size_t i = 0; i < single_searches; ++i) {
    singles.push_back(
        seconds_of([&] { static_cast<void>(index.search(queries.subspan(i * samples.dim, samples.dim), neighbors)); }));
  }
  std::vector<double> batches;
  batches.reserve(batch_rounds);
  for (std::size_t i = 0; i < batch_rounds; ++i) {
    batches.push_back(seconds_of([&] { static_cast<void>(index.search(queries, neighbors)); }));
  }
  speed.single_seconds = median_of(std::move(singles));
  speed.batch_seconds = median_of(std::move(batches));
  const IndexStatistics size = index.statistics();
  speed.single_of_roofline = roofline_share(peaks, size, precision, samples.dim, 1, speed.single_seconds);
  speed.batch_of_roofline = roofline_share(peaks, size, precision, samples.dim, batch_queries, speed.batch_seconds);
  speed.single_predicted = predict_time(on, index, precision, samples, 1);
  speed.batch_predicted = predict_time(on, index, precision, samples, batch_queries);
  return speed;
}

// Device memory that the pool has reserved beyond the fp32 vectors, as a share of them.
std::optional<double> overhead_of(Runtime& runtime, const Device& device, std::size_t floats) {
  const std::optional<MemoryStats> stats = memory_pool(runtime).get_memory_stats(device.id());
  if (!stats || floats == 0) return std::nullopt;
  return static_cast<double>(stats->reserved_bytes) / (static_cast<double>(floats) * sizeof(float)) - 1;
}

}  // namespace

SampleSet make_samples(std::uint64_t seed, std::size_t rows, std::size_t dim) {
  SampleVectors vectors(seed, dim);
  return {dim, vectors.draw(rows), vectors.draw(batch_queries), vectors.draw(inserted_rows)};
}

IndexSpeed measure_index(Runtime& runtime, const Device& device, const SampleSet& samples, Answers& answers,
                         const ModelRates* rates) {
  const bool host = device.backend() == "cpu";
  if (!host) {
    set_active_device(device.id(), runtime);
    memory_pool(runtime).emergency_cleanup(device.id());
  }
  const SearchTarget target{runtime, device, profile(device), rates};
  const std::unique_ptr<Index> index =
      make_index(host ? "flat" : "gpu", samples.dim, Metric::l2, {.runtime = &runtime});
  const std::span<const float> query = std::span(samples.queries).first(samples.dim);
  IndexSpeed speed;
  index->set_precision(report_precisions.front());
  speed.build_seconds = seconds_of([&] {
    index->add(samples.corpus);
    speed.device = index->search(query, neighbors).explanation().device;
  });
  for (const Precision precision : report_precisions) {
    speed.searches.push_back(measure_searches(target, *index, precision, samples, answers));
    if (precision == Precision::fp32 && !host) {
      speed.memory_overhead = overhead_of(runtime, device, samples.corpus.size());
    }
  }
  speed.insert_seconds = seconds_of([&] {
    index->add(samples.inserted);
    static_cast<void>(index->search(query, neighbors));
  });
  return speed;
}

double measure_graph(Runtime& runtime, const Device& device, const SampleSet& samples) {
  const std::unique_ptr<Index> index =
      make_index("graph", samples.dim, Metric::l2, {.device = device.label(), .runtime = &runtime});
  return seconds_of([&] {
    index->add(samples.corpus);
    static_cast<void>(index->search(std::span(samples.queries).first(samples.dim), neighbors));
  });
}

}  // namespace vectis::inline v0_1::detail
