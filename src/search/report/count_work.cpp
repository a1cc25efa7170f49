#include "search/report/count_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "vectis/base/time.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/device/transfer.hpp"
#include "vectis/kernel/profiler.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view scan_name = "scan_bounds";
constexpr std::uint64_t scan_terms = 4;         // floats of a row, and of a query
constexpr double scan_operations_of_bound = 8;  // beside those of the product
constexpr int call_repeats = 64;                // calls in a row whose time is taken
constexpr int call_rounds = 7;                  // of which the fastest counts
constexpr std::size_t small_bytes = 4096;

class WorkCounter final : public ProfilerSink {
 public:
  explicit WorkCounter(std::string device) : device_(std::move(device)) {}

  void end(const HostSpan& span) override {
    if (span.device != device_ || span.failed || span.declined) return;
    const std::lock_guard lock(mutex_);
    switch (span.kind) {
      case SpanKind::range:
        work_.calls.push_back({std::string(span.name), span.operations, static_cast<double>(span.bytes)});
        break;
      case SpanKind::launch:
      case SpanKind::fill:
        ++work_.launches;
        break;
      case SpanKind::operation:
        work_.native = true;
        break;
      case SpanKind::copy_to_device:
      case SpanKind::copy_to_host:
        work_.copied_bytes += static_cast<double>(span.bytes);
        [[fallthrough]];
      case SpanKind::copy_on_device:
        ++work_.copies;
        break;
    }
  }

  [[nodiscard]] EnqueuedWork work() const {
    const std::lock_guard lock(mutex_);
    return work_;
  }

 private:
  mutable std::mutex mutex_;
  std::string device_;
  EnqueuedWork work_;
};

JobPrediction no_prediction(std::string reason) {
  JobPrediction none;
  none.missing = std::move(reason);
  return none;
}

JobCounts calls_of(const EnqueuedWork& work) {
  JobCounts counts;
  counts.launches = work.launches;
  counts.copies = work.copies;
  counts.copied_bytes = work.copied_bytes;
  return counts;
}

// The element types of rows and queries of a search on a device.
std::pair<DType, DType> scanned_types(Precision precision) {
  const DType rows = dtype_of(precision);
  return {rows, precision == Precision::fp16 ? DType::float32 : rows};
}

// Adds the instructions of one call of an operation; returns the label of a kernel that was not counted, or nothing.
std::string add_call(JobCounts& counts, const OperationCall& call, const ResultShape& shape, const DeviceInfo& info,
                     const ModelRates& rates) {
  for (const PlannedLaunch& launch : call.operation->plan(call, info).launches) {
    const KernelSource source = launch.source();
    if (!add_kernel(counts, source, shape, rates)) return label_of(source);
  }
  return {};
}

JobPrediction predicted(const JobCounts& counts, const std::string& uncounted, const ModelRates& rates) {
  if (uncounted.empty()) return predict(counts, rates);
  return no_prediction(fmt::format("the instructions of {} were not counted", uncounted));
}

std::vector<ParameterValue> default_parameters(const Operation& operation) {
  std::vector<ParameterValue> parameters;
  parameters.reserve(operation.parameters.size());
  for (const ParameterRule& rule : operation.parameters) parameters.emplace_back(rule.default_value);
  return parameters;
}

// Seconds of `count` calls and one wait, the fastest of several rounds.
template <class Call>
double fastest(Stream& stream, int count, const Call& call) {
  double best = 0;
  for (int round = 0; round < call_rounds; ++round) {
    const std::uint64_t begin = monotonic_nanoseconds();
    for (int i = 0; i < count; ++i) call();
    stream.synchronize();
    const double taken = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
    best = round == 0 ? taken : std::min(best, taken);
  }
  return best;
}

}  // namespace

EnqueuedWork count_work(Runtime& runtime, const Device& device, const std::function<void()>& job) {
  const auto counter = std::make_shared<WorkCounter>(device.label());
  ProfilerOptions options;
  options.capacity = 0;
  options.device_times = false;
  Profiler profiler(runtime, options);
  profiler.add_sink(counter);
  job();
  profiler.pause();
  return counter->work();
}

CallCosts measure_calls(Runtime& runtime, const Device& device) {
  const DeviceContext context(device);
  Stream stream(context);
  const DeviceMemory memory(context, 2 * small_bytes);
  const HostMemory host(context, small_bytes);
  std::ranges::fill(host.bytes(), std::byte{0});
  const View from(memory, DType::float32, 1, 1);
  const View to(memory, DType::float32, 1, 1, small_bytes / sizeof(float), 1);
  const auto launch = [&] { run(stream, "cast", {from, to}); };
  const auto copy = [&] { stream.copy_to_device(memory, 0, host.bytes()); };
  const auto product = [&] {
    run(stream, "matmul", {from, from, to});
    stream.synchronize();
  };
  product();  // compiles kernels
  launch();
  copy();
  stream.synchronize();
  const auto slope = [&](double one, double many) { return std::max(0.0, many - one) / (call_repeats - 1); };
  CallCosts costs;
  costs.native_products = count_work(runtime, device, product).native;
  const double one_launch = fastest(stream, 1, launch);
  costs.launch_seconds = slope(one_launch, fastest(stream, call_repeats, launch));
  costs.wait_seconds = std::max(0.0, one_launch - costs.launch_seconds);
  const double one_copy = fastest(stream, 1, copy);
  costs.copy_seconds = slope(one_copy, fastest(stream, call_repeats, copy));
  return costs;
}

JobPrediction predict_operation(const EnqueuedWork& work, const Operation& operation, std::span<const View> views,
                                const DeviceInfo& info, const ModelRates& rates) {
  if (work.native) return no_prediction("the backend's own code, whose instructions were not counted");
  const std::vector<ParameterValue> parameters = default_parameters(operation);
  const OperationCall call{&operation, views, parameters};
  JobCounts counts = calls_of(work);
  counts.bytes = operation.cost(call).bytes;
  const ResultShape shape{views.back().rows, views.back().columns, views.front().columns};
  const std::string uncounted = add_call(counts, call, shape, info, rates);
  return predicted(counts, uncounted, rates);
}

JobPrediction predict_search(const EnqueuedWork& work, const SearchShape& shape, const Device& device,
                             const ModelRates& rates) {
  if (work.native || work.launches == 0) {
    return no_prediction("the search launches no kernels whose instructions were counted");
  }
  const Operation* const scan = find_operation(scan_name);
  const auto [row_type, query_type] = scanned_types(shape.precision);
  const DeviceMemory memory(DeviceContext(device), sizeof(float));  // plans look at shapes and types alone
  const double row_bytes = static_cast<double>(shape.dim * size_of(row_type) + scan_terms * sizeof(float));
  const double query_bytes = static_cast<double>(shape.dim * size_of(query_type) + scan_terms * sizeof(float));
  const auto queries = static_cast<double>(shape.queries);
  const std::uint64_t row_stride = (shape.dim * size_of(row_type) + 3) / 4 * 4 / size_of(row_type);
  const std::uint64_t query_stride = (shape.dim * size_of(query_type) + 3) / 4 * 4 / size_of(query_type);
  const std::vector<ParameterValue> parameters = default_parameters(*scan);
  JobCounts counts = calls_of(work);
  std::string uncounted;
  for (const EnqueuedWork::Call& call : work.calls) {
    if (call.name != scan_name) continue;
    const double rows = (call.bytes - queries * query_bytes) / row_bytes;
    const double operations = rows * queries * (2 * static_cast<double>(shape.dim) + scan_operations_of_bound);
    if (rows < 1 || std::abs(operations - call.operations) > 1e-6 * operations) {
      return no_prediction("the queries were searched in several batches");
    }
    const auto count = static_cast<std::uint64_t>(std::llround(rows));
    const std::vector<View> views = {View(memory, row_type, count, shape.dim, 0, row_stride),
                                     View(memory, query_type, shape.queries, shape.dim, 0, query_stride),
                                     View(memory, DType::float32, count, scan_terms),
                                     View(memory, DType::float32, shape.queries, scan_terms),
                                     View(memory, DType::int32, shape.queries, 1),
                                     View(memory, DType::float32, shape.queries, 2),
                                     View(memory, DType::int32, shape.queries, 1),
                                     View(memory, DType::int32, 1, 1)};
    counts.bytes += call.bytes;
    uncounted = add_call(counts, {scan, views, parameters}, {count, shape.queries, shape.dim}, device.info(), rates);
    if (!uncounted.empty()) break;
  }
  return predicted(counts, uncounted, rates);
}

}  // namespace vectis::inline v0_1::detail
