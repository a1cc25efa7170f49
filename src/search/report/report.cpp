#include "vectis/search/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/report/measure.hpp"
#include "search/report/model.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::size_t default_cpu_rows = 50'000;

bool all_correct(const IndexSpeed& index) {
  return std::ranges::all_of(index.searches, [](const SearchSpeed& speed) { return speed.wrong == 0; });
}

}  // namespace

bool DeviceReport::passed() const noexcept {
  return failures.empty() && conformance.passed() && conformance.complete() && all_correct(index) &&
         all_correct(host) &&
         std::ranges::none_of(targets, [](const TargetResult& target) { return target.verdict == Verdict::missed; }) &&
         std::ranges::all_of(speeds.speeds, [](const conformance::Speed& speed) { return speed.failure.empty(); });
}

DeviceReport report(Runtime& runtime, const Device& device, const ReportOptions& options) {
  if (options.dim == 0)
    throw Error(ErrorCode::invalid_input, "report", "dim is 0, it must be 1 to 65536; set ReportOptions::dim");
  DeviceReport result;
  result.device = device.label();
  result.info = device.info();
  result.gpu = device.is_gpu();
  result.seed = options.seed;
  result.dim = options.dim;
  result.rows = options.rows != 0 ? options.rows : result.gpu ? detail::target_rows : default_cpu_rows;
  conformance::Options suite;
  suite.operations = options.operations;
  suite.seed = options.seed;
  suite.coverage = options.coverage;
  const auto attempt = [&](const char* part, const auto& run_part) {
    if (options.progress) options.progress(part);
    try {
      run_part();
    } catch (const Error& error) {
      result.failures.push_back(fmt::format("{}: {}", part, error.what()));
    }
  };
  attempt("conformance", [&] { result.conformance = conformance::test(runtime, device, suite); });
  if (options.speeds) {
    attempt("benchmark of single operations", [&] { result.speeds = conformance::measure(runtime, device, suite); });
  }
  const detail::SampleSet samples = detail::make_samples(options.seed, result.rows, result.dim);
  const Device host = runtime.service<DeviceRegistry>().find("cpu").value();
  detail::Answers answers;
  attempt("search on the CPU", [&] { result.host = detail::measure_index(runtime, host, samples, answers); });
  if (device != host) {
    attempt("speed of launches and copies", [&] {
      result.rates = detail::model_rates(device.info(), profile(device), detail::measure_calls(runtime, device));
    });
  }
  const ModelRates* const rates = result.rates ? &*result.rates : nullptr;
  attempt("search on the device", [&] {
    result.index = device == host ? result.host : detail::measure_index(runtime, device, samples, answers, rates);
  });
  attempt("graph on the CPU", [&] { result.host.graph_seconds = detail::measure_graph(runtime, host, samples); });
  attempt("graph on the device", [&] {
    result.index.graph_seconds =
        device == host ? result.host.graph_seconds : detail::measure_graph(runtime, device, samples);
  });
  attempt("distances and matrix products on the CPU",
          [&] { result.host_operations = detail::measure_operations(runtime, host, samples); });
  attempt("distances and matrix products on the device", [&] {
    result.operations =
        device == host ? result.host_operations : detail::measure_operations(runtime, device, samples, rates);
  });
  result.targets = detail::evaluate_targets(result);
  return result;
}

}  // namespace vectis::inline v0_1
