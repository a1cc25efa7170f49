#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "search/report/measure.hpp"

namespace vectis::inline v0_1 {

std::string_view name(Verdict verdict) noexcept {
  if (verdict == Verdict::met) return "met";
  return verdict == Verdict::missed ? "MISSED" : "does not apply";
}

namespace detail {

namespace {

constexpr double in_milliseconds = 1e3;

// Targets for matrix products, in milliseconds.
struct ProductTarget {
  const char* name;
  double cuda;    // limit on the backend cuda
  double others;  // limit on every other backend
};
constexpr std::array<ProductTarget, 4> product_targets = {
    {{"matmul 512", 0.8, 1.2}, {"matmul 1024", 2.1, 3.4}, {"matmul 2048", 8.9, 14.2}, {"matmul 4096", 42.3, 67.8}}};

class TargetEvaluator {
 public:
  explicit TargetEvaluator(const DeviceReport& report) : report_(report), why_no_gpu_(why_no_gpu(report)) {}

  [[nodiscard]] std::string_view backend() const {
    return std::string_view(report_.device).substr(0, report_.device.find(':'));
  }

  // Adds a target. It does not apply when the device is no GPU, `why_not` is not empty, or nothing was measured.
  void add(std::string name, std::optional<double> measured, double limit, std::string unit, bool is_minimum,
           std::string why_not = {}) {
    TargetResult target{std::move(name), measured, limit, is_minimum, std::move(unit), Verdict::not_applicable, {}};
    target.reason = why_no_gpu_.empty() ? std::move(why_not) : why_no_gpu_;
    if (target.reason.empty() && !measured) target.reason = "not measured";
    if (target.reason.empty()) {
      const bool met = is_minimum ? *measured >= limit : *measured <= limit;
      target.verdict = met ? Verdict::met : Verdict::missed;
    }
    targets_.push_back(std::move(target));
  }

  // Why a target that is stated for target_rows vectors of target_dim dimensions does not apply to this run.
  [[nodiscard]] std::string why_other_size() const {
    if (report_.rows == target_rows && report_.dim == target_dim) return {};
    return fmt::format("stated for {} vectors of {} dimensions, but {} of {} were measured", target_rows, target_dim,
                       report_.rows, report_.dim);
  }

  [[nodiscard]] std::vector<TargetResult> take() { return std::move(targets_); }

 private:
  static std::string why_no_gpu(const DeviceReport& report) {
    if (report.gpu) return {};
    return report.info.software ? "stated for GPUs, but this software driver computes on the CPU"
                                : "stated for GPUs, but this is the CPU that GPUs are compared with";
  }

  const DeviceReport& report_;
  std::string why_no_gpu_;
  std::vector<TargetResult> targets_;
};

// The shortest time over all precisions; results are exact at each.
template <class Time>
std::optional<double> shortest(const IndexSpeed& index, Time time) {
  std::optional<double> best;
  for (const SearchSpeed& speed : index.searches) {
    if (!best || speed.*time < *best) best = speed.*time;
  }
  return best;
}

std::optional<double> to_milliseconds(std::optional<double> seconds) {
  return seconds ? std::optional(*seconds * in_milliseconds) : std::nullopt;
}

std::optional<double> ratio(std::optional<double> of_host, std::optional<double> of_device) {
  return of_host && of_device && *of_device > 0 ? std::optional(*of_host / *of_device) : std::nullopt;
}

// A time of 0 was not measured.
std::optional<double> measured(double seconds) { return seconds > 0 ? std::optional(seconds) : std::nullopt; }

// Percent of device memory beyond the vectors. HIP has the limit of CUDA, whose interface it follows, and backends
// without a stated limit have that of Metal, the highest.
double overhead_limit(std::string_view backend, const DeviceInfo& info) {
  constexpr double metal = 20;
  if (backend == "cuda" || backend == "hip") return 15;
  if (backend == "webgpu") return info.driver.starts_with("Metal") ? metal : 10;
  return metal;
}

const OperationSpeed* find_speed(const DeviceReport& report, std::string_view name) {
  const auto found = std::ranges::find(report.operations, name, &OperationSpeed::name);
  return found == report.operations.end() ? nullptr : &*found;
}

// Adds the target of one operation. An operation that was skipped because its estimate is too long has missed its
// target.
void add_operation(TargetEvaluator& evaluator, const DeviceReport& report, const char* name, double limit,
                   std::string why_not) {
  const OperationSpeed* const speed = find_speed(report, name);
  const bool known = speed != nullptr && speed->seconds > 0;
  if (why_not.empty() && speed != nullptr && !known) why_not = speed->skipped;
  evaluator.add(name, known ? to_milliseconds(speed->seconds) : std::nullopt, limit, "ms", false, std::move(why_not));
}

}  // namespace

std::vector<TargetResult> evaluate_targets(const DeviceReport& report) {
  TargetEvaluator evaluator(report);
  const bool cuda = evaluator.backend() == "cuda";
  const bool fast_path = cuda || evaluator.backend() == "hip";
  const std::string other_size = evaluator.why_other_size();
  const std::optional<double> single = shortest(report.index, &SearchSpeed::single_seconds);
  const std::optional<double> batch = shortest(report.index, &SearchSpeed::batch_seconds);
  evaluator.add("search, 1 query", to_milliseconds(single), fast_path ? 2 : 5, "ms", false, other_size);
  evaluator.add("search, 1 query", ratio(shortest(report.host, &SearchSpeed::single_seconds), single), 10,
                "times as fast as the CPU", true, other_size);
  evaluator.add("search, 100 queries", to_milliseconds(batch), 5, "ms", false, other_size);
  evaluator.add("search, 100 queries", ratio(shortest(report.host, &SearchSpeed::batch_seconds), batch), 400,
                "times as fast as the CPU", true, other_size);
  evaluator.add("insert 10,000 vectors", to_milliseconds(measured(report.index.insert_seconds)), 50, "ms", false,
                other_size);
  evaluator.add("insert 10,000 vectors",
                ratio(measured(report.host.insert_seconds), measured(report.index.insert_seconds)), 100,
                "times as fast as the CPU", true, other_size);
  evaluator.add("index all vectors in a graph", report.index.graph_seconds, 30, "s", false, other_size);
  evaluator.add("index all vectors in a graph", ratio(report.host.graph_seconds, report.index.graph_seconds), 20,
                "times as fast as the CPU", true, other_size);
  const std::optional<double> overhead = report.index.memory_overhead;
  evaluator.add("device memory overhead", overhead ? std::optional(*overhead * 100) : std::nullopt,
                overhead_limit(evaluator.backend(), report.info), "%", false, other_size);
  add_operation(evaluator, report, "l2_distance fp32", 15, other_size);
  add_operation(evaluator, report, "l2_distance fp16", 9, other_size);
  add_operation(evaluator, report, "l2_distance int8", 6, other_size);
  for (const ProductTarget& product : product_targets) {
    add_operation(evaluator, report, product.name, cuda ? product.cuda : product.others, {});
  }
  return evaluator.take();
}

}  // namespace detail
}  // namespace vectis::inline v0_1
