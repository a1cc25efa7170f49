#include "vectis/search/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/report/measure.hpp"
#include "search/report/targets.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::size_t rows_on_processors = 50'000;

bool all_right(const IndexSpeed& index) {
  return std::ranges::all_of(index.searches, [](const SearchSpeed& speed) { return speed.wrong == 0; });
}

}  // namespace

bool DeviceReport::passed() const noexcept {
  return failures.empty() && conformance.passed() && all_right(index) && all_right(host) &&
         std::ranges::none_of(targets,
                              [](const JudgedTarget& target) { return target.judgement == Judgement::missed; }) &&
         std::ranges::all_of(speeds.speeds, [](const conformance::Speed& speed) { return speed.failure.empty(); });
}

DeviceReport report(Runtime& runtime, const Device& device, const ReportOptions& options) {
  if (options.dim == 0) throw Error(ErrorCode::invalid_input, "report", "vectors of 0 numbers; give them at least 1");
  DeviceReport result;
  result.device = device.label();
  result.info = device.info();
  result.gpu = device.is_gpu();
  result.seed = options.seed;
  result.dim = options.dim;
  result.rows = options.rows != 0 ? options.rows : result.gpu ? detail::target_rows : rows_on_processors;
  conformance::Options suite;
  suite.operations = options.operations;
  suite.seed = options.seed;
  suite.reach = options.reach;
  const auto attempt = [&](const char* what, const auto& part) {
    if (options.progress) options.progress(what);
    try {
      part();
    } catch (const Error& error) {
      result.failures.push_back(fmt::format("{}: {}", what, error.what()));
    }
  };
  attempt("conformance", [&] { result.conformance = conformance::test(runtime, device, suite); });
  if (options.speeds) {
    attempt("speed of operations", [&] { result.speeds = conformance::measure(runtime, device, suite); });
  }
  const detail::SampleSet samples = detail::make_samples(options.seed, result.rows, result.dim);
  const Device host = runtime.service<DeviceRegistry>().find("cpu").value();
  detail::Answers answers;
  attempt("searches on this processor", [&] { result.host = detail::measure_index(runtime, host, samples, answers); });
  attempt("searches on the device", [&] {
    result.index = device == host ? result.host : detail::measure_index(runtime, device, samples, answers);
  });
  attempt("distances and products", [&] { result.operations = detail::measure_operations(device, samples); });
  result.targets = detail::judge_targets(result);
  return result;
}

}  // namespace vectis::inline v0_1
