#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "search/report/count_work.hpp"
#include "search/report/measure.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::array<std::uint64_t, 4> product_sizes = {512, 1024, 2048, 4096};
constexpr double product_seconds_max = 1;  // products with a longer estimate are skipped
constexpr double timed_seconds_min = 0.1;
constexpr int timed_calls_min = 3;
constexpr int timed_calls_max = 200;

// Runs operations on one device and times them.
class OperationBench {
 public:
  // `rates` may be null: then times are not predicted.
  OperationBench(Runtime& runtime, const Device& device, const ModelRates* rates)
      : runtime_(runtime), context_(device), stream_(context_), peaks_(profile(device)), rates_(rates) {}

  [[nodiscard]] DeviceMemory memory(std::uint64_t elements, DType type) const {
    return {context_, (elements * size_of(type) + 3) / 4 * 4};
  }
  [[nodiscard]] View upload(std::span<const float> values, std::uint64_t rows) {
    View view(memory(values.size(), DType::float32), DType::float32, rows, values.size() / rows);
    stream_.copy_to_device(view.memory, 0, std::as_bytes(values));
    stream_.synchronize();
    return view;
  }
  [[nodiscard]] View cast(const View& from, DType type) {
    if (type == from.type) return from;
    View view(memory(from.elements(), type), type, from.rows, from.columns);
    run(stream_, "cast", {from, view});
    stream_.synchronize();
    return view;
  }

  // Returns the fastest of several calls after a first one, which may compile kernels.
  [[nodiscard]] OperationSpeed time(std::string name, const char* operation, const std::vector<View>& views,
                                    Precision precision) {
    OperationSpeed speed{std::move(name), 0, 0, {}, {}};
    try {
      run(stream_, operation, views);
      stream_.synchronize();
      const std::uint64_t begin = monotonic_nanoseconds();
      for (int i = 0; i < timed_calls_max; ++i) {
        const std::uint64_t start = monotonic_nanoseconds();
        run(stream_, operation, views);
        stream_.synchronize();
        const double taken = seconds_since(start);
        speed.seconds = i == 0 ? taken : std::min(speed.seconds, taken);
        if (i + 1 >= timed_calls_min && seconds_since(begin) > timed_seconds_min) break;
      }
      if (rates_ != nullptr) speed.predicted = predict_time(operation, views);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::allocation && error.code() != ErrorCode::unsupported) throw;
      speed.skipped = error.what();
      return speed;
    }
    speed.of_roofline = share_of(operation, views, precision, speed.seconds);
    return speed;
  }

 private:
  [[nodiscard]] JobPrediction predict_time(const char* operation, const std::vector<View>& views) {
    const EnqueuedWork work = count_work(runtime_, context_.device(), [&] {
      run(stream_, operation, views);
      stream_.synchronize();
    });
    return predict_operation(work, *find_operation(operation), views, context_.device().info(), *rates_);
  }

  static double seconds_since(std::uint64_t begin) {
    return static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  }

  [[nodiscard]] double share_of(const char* name, const std::vector<View>& views, Precision precision,
                                double seconds) const {
    const Operation* const operation = find_operation(name);
    std::vector<ParameterValue> parameters;
    parameters.reserve(operation->parameters.size());
    for (const ParameterRule& rule : operation->parameters) parameters.emplace_back(rule.default_value);
    const OperationCost cost = operation->cost({operation, views, parameters});
    const double own_rate = peaks_.operations_per_second.at(precision);
    const double rate = own_rate > 0 ? own_rate : peaks_.operations_per_second.fp32;
    const double of_operations = rate > 0 ? cost.operations / rate : 0;
    const double bandwidth = peaks_.memory_bytes_per_second;
    return std::max(of_operations, bandwidth > 0 ? cost.bytes / bandwidth : 0) / seconds;
  }

  Runtime& runtime_;
  DeviceContext context_;
  Stream stream_;
  const DeviceProfile& peaks_;
  const ModelRates* rates_;
};

}  // namespace

std::vector<OperationSpeed> measure_operations(Runtime& runtime, const Device& device, const SampleSet& samples,
                                               const ModelRates* rates) {
  OperationBench bench(runtime, device, rates);
  std::vector<OperationSpeed> speeds;
  const std::uint64_t rows = samples.corpus.size() / samples.dim;
  {
    const View query = bench.upload(std::span(samples.queries).first(samples.dim), 1);
    const View corpus = bench.upload(samples.corpus, rows);
    const View out(bench.memory(rows, DType::float32), DType::float32, 1, rows);
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::int8}) {
      const DType type = dtype_of(precision);
      speeds.push_back(bench.time(fmt::format("l2_distance {}", name(precision)), "l2_squared",
                                  {bench.cast(query, type), bench.cast(corpus, type), out}, precision));
    }
  }
  double expected = 0;
  for (const std::uint64_t size : product_sizes) {
    const std::string label = fmt::format("matmul {}", size);
    if (expected > product_seconds_max) {
      speeds.push_back({label, expected, 0, fmt::format("skipped, the estimate is {:.0f} s", expected), {}});
      expected *= 8;
      continue;
    }
    const std::vector<float> values(size * size, 1.5F);
    const View a = bench.upload(values, size);
    const View c(bench.memory(size * size, DType::float32), DType::float32, size, size);
    speeds.push_back(bench.time(label, "matmul", {a, a, c}, Precision::fp32));
    expected = 8 * speeds.back().seconds;
  }
  return speeds;
}

}  // namespace vectis::inline v0_1::detail
