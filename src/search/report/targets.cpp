#include "search/report/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vectis::inline v0_1 {

std::string_view name(Judgement judgement) noexcept {
  if (judgement == Judgement::met) return "met";
  return judgement == Judgement::missed ? "MISSED" : "does not apply";
}

namespace detail {

namespace {

constexpr double in_milliseconds = 1e3;

// The matrix products of the documents: sizes, and milliseconds on a GPU through CUDA, and on AMD's.
struct ProductTarget {
  const char* name;
  double cuda;
  double others;
};
constexpr std::array<ProductTarget, 4> product_targets = {
    {{"matmul 512", 0.8, 1.2}, {"matmul 1024", 2.1, 3.4}, {"matmul 2048", 8.9, 14.2}, {"matmul 4096", 42.3, 67.8}}};

class Judge {
 public:
  explicit Judge(const DeviceReport& report) : report_(report), why_no_gpu_(why_no_gpu(report)) {}

  [[nodiscard]] std::string_view backend() const {
    return std::string_view(report_.device).substr(0, report_.device.find(':'));
  }

  // Judged unless something stands against it.
  void add(std::string name, std::optional<double> measured, double limit, std::string unit, bool at_least,
           std::string why_not = {}) {
    JudgedTarget target{std::move(name), measured, limit, at_least, std::move(unit), Judgement::not_applicable, {}};
    target.reason = why_no_gpu_.empty() ? std::move(why_not) : why_no_gpu_;
    if (target.reason.empty() && !measured) target.reason = "it was not measured";
    if (target.reason.empty()) {
      const bool met = at_least ? *measured >= limit : *measured <= limit;
      target.judgement = met ? Judgement::met : Judgement::missed;
    }
    targets_.push_back(std::move(target));
  }

  // Why a target that is stated for a million vectors of 128 numbers says nothing of this run.
  [[nodiscard]] std::string why_not_of_million() const {
    if (report_.rows == target_rows && report_.dim == 128) return {};
    return fmt::format("it is stated for {} vectors of 128 numbers, and {} of {} were measured", target_rows,
                       report_.rows, report_.dim);
  }

  [[nodiscard]] std::vector<JudgedTarget> take() { return std::move(targets_); }

 private:
  static std::string why_no_gpu(const DeviceReport& report) {
    if (report.gpu) return {};
    return report.info.software ? "a processor computes behind this driver, and targets are stated for GPUs"
                                : "this is the processor that GPUs are compared with";
  }

  const DeviceReport& report_;
  std::string why_no_gpu_;
  std::vector<JudgedTarget> targets_;
};

// The quickest, whatever is scanned: answers are exact at any precision.
template <class Time>
std::optional<double> quickest(const IndexSpeed& index, Time time) {
  std::optional<double> best;
  for (const SearchSpeed& speed : index.searches) {
    if (!best || speed.*time < *best) best = speed.*time;
  }
  return best;
}

std::optional<double> scaled(std::optional<double> seconds) {
  return seconds ? std::optional(*seconds * in_milliseconds) : std::nullopt;
}

std::optional<double> ratio(std::optional<double> of_host, std::optional<double> of_device) {
  return of_host && of_device && *of_device > 0 ? std::optional(*of_host / *of_device) : std::nullopt;
}

const OperationSpeed* find_speed(const DeviceReport& report, std::string_view name) {
  const auto found = std::ranges::find(report.operations, name, &OperationSpeed::name);
  return found == report.operations.end() ? nullptr : &*found;
}

// What was foreseen to take longer than it may was not worth measuring, and is missed.
void judge_operation(Judge& judge, const DeviceReport& report, const char* name, double limit, std::string why_not) {
  const OperationSpeed* const speed = find_speed(report, name);
  const bool known = speed != nullptr && speed->seconds > 0;
  if (why_not.empty() && speed != nullptr && !known) why_not = speed->skipped;
  judge.add(name, known ? scaled(speed->seconds) : std::nullopt, limit, "ms", false, std::move(why_not));
}

}  // namespace

std::vector<JudgedTarget> judge_targets(const DeviceReport& report) {
  Judge judge(report);
  const bool cuda = judge.backend() == "cuda";
  const bool fast_path = cuda || judge.backend() == "hip";
  const std::string of_million = judge.why_not_of_million();
  const std::optional<double> single = quickest(report.index, &SearchSpeed::single_seconds);
  const std::optional<double> batch = quickest(report.index, &SearchSpeed::batch_seconds);
  judge.add("search of one query", scaled(single), fast_path ? 2 : 5, "ms", false, of_million);
  judge.add("search of one query", ratio(quickest(report.host, &SearchSpeed::single_seconds), single), 10,
            "times this processor", true, of_million);
  judge.add("search of 100 queries", scaled(batch), 5, "ms", false, of_million);
  judge.add("search of 100 queries", ratio(quickest(report.host, &SearchSpeed::batch_seconds), batch), 100,
            "times this processor", true, of_million);
  judge.add("insert of 10,000 vectors", report.index.insert_seconds * in_milliseconds, 50, "ms", false, of_million);
  judge.add("index of 1,000,000 vectors", report.index.build_seconds, 30, "s", false, of_million);
  const std::optional<double> overhead = report.index.memory_overhead;
  judge.add("memory beyond the vectors", overhead ? std::optional(*overhead * 100) : std::nullopt, 15, "%", false,
            cuda ? of_million : "it is stated for CUDA");
  judge_operation(judge, report, "l2_distance fp32", 15, of_million);
  judge_operation(judge, report, "l2_distance fp16", 9, of_million);
  judge_operation(judge, report, "l2_distance int8", 6, of_million);
  for (const ProductTarget& product : product_targets) {
    judge_operation(judge, report, product.name, cuda ? product.cuda : product.others, {});
  }
  return judge.take();
}

}  // namespace detail
}  // namespace vectis::inline v0_1
