#include "vectis/search/report.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "vectis/base/error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/commands.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;

// The default of ReportOptions::rows.
std::size_t default_rows(const Device& device) { return device.is_gpu() ? 1'000'000 : 50'000; }

Json json_of(const conformance::Report& suite) {
  Json lines = Json::array();
  for (const conformance::Line& line : suite.lines) {
    lines.push_back({{"operation", line.operation},
                     {"types", line.types},
                     {"cases", line.cases},
                     {"failures", line.failures},
                     {"not_offered", line.not_offered},
                     {"worst_error", line.worst},
                     {"limit", line.limit}});
  }
  Json failures = Json::array();
  for (const conformance::Failure& failure : suite.failures) {
    failures.push_back({{"operation", failure.operation}, {"case", failure.case_name}, {"what", failure.what}});
  }
  return {{"passed", suite.passed()},
          {"cases", suite.cases()},
          {"failed", suite.failed()},
          {"failures", failures},
          {"lines", lines}};
}

Json json_of(const conformance::SpeedReport& speeds) {
  Json lines = Json::array();
  for (const conformance::Speed& speed : speeds.speeds) {
    lines.push_back({{"operation", speed.operation},
                     {"types", speed.types},
                     {"case", speed.case_name},
                     {"seconds", speed.seconds},
                     {"gigaflops", speed.gigaflops},
                     {"gigabytes", speed.gigabytes},
                     {"percent_of_roofline", speed.of_roofline * 100},
                     {"error", speed.error},
                     {"failure", speed.failure}});
  }
  return {{"peak_gigaflops", speeds.peak_gigaflops}, {"peak_gigabytes", speeds.peak_gigabytes}, {"operations", lines}};
}

Json json_of(const ModelRates& rates) {
  return {{"source", rates.source},
          {"gigabytes_per_second", rates.memory_bytes_per_second * 1e-9},
          {"giga_instructions_per_second", rates.instructions_per_second * 1e-9},
          {"giga_multiply_adds_per_second", rates.fused_per_second * 1e-9},
          {"giga_dot_products_per_second", rates.dots_per_second * 1e-9},
          {"giga_matrix_multiply_adds_per_second", rates.matrix_per_second * 1e-9},
          {"launch_us", rates.launch_seconds * 1e6},
          {"copy_us", rates.copy_seconds * 1e6},
          {"wait_us", rates.wait_seconds * 1e6},
          {"copied_gigabytes_per_second", rates.copy_bytes_per_second * 1e-9}};
}

Json json_of(const JobPrediction& predicted) {
  if (!predicted.missing.empty()) return {{"missing", predicted.missing}};
  const JobCounts& counts = predicted.counts;
  return {{"ms", predicted.seconds * 1e3},
          {"wall", predicted.wall},
          {"memory_ms", predicted.memory_seconds * 1e3},
          {"issue_ms", predicted.issue_seconds * 1e3},
          {"unit_ms", predicted.unit_seconds * 1e3},
          {"host_ms", predicted.host_seconds * 1e3},
          {"launches", counts.launches},
          {"copies", counts.copies},
          {"copied_bytes", counts.copied_bytes},
          {"bytes", counts.bytes},
          {"instructions", counts.instructions},
          {"multiply_adds", counts.fused},
          {"dot_products", counts.dots},
          {"matrix_multiply_adds", counts.matrix}};
}

Json json_of(const IndexSpeed& index) {
  Json searches = Json::array();
  for (const SearchSpeed& speed : index.searches) {
    searches.push_back({{"precision", name(speed.precision)},
                        {"single_ms", speed.single_seconds * 1e3},
                        {"batch_of_100_ms", speed.batch_seconds * 1e3},
                        {"single_percent_of_roofline", speed.single_of_roofline * 100},
                        {"batch_percent_of_roofline", speed.batch_of_roofline * 100},
                        {"single_predicted", json_of(speed.single_predicted)},
                        {"batch_predicted", json_of(speed.batch_predicted)},
                        {"wrong_answers", speed.wrong}});
  }
  Json page = {{"device", index.device},
               {"build_seconds", index.build_seconds},
               {"insert_10000_ms", index.insert_seconds * 1e3},
               {"searches", searches}};
  if (index.graph_seconds) page["graph_seconds"] = *index.graph_seconds;
  if (index.memory_overhead) page["memory_overhead_percent"] = *index.memory_overhead * 100;
  return page;
}

Json json_of(const OperationSpeed& speed) {
  if (!speed.skipped.empty()) return {{"name", speed.name}, {"skipped", speed.skipped}};
  return {{"name", speed.name},
          {"ms", speed.seconds * 1e3},
          {"percent_of_roofline", speed.of_roofline * 100},
          {"predicted", json_of(speed.predicted)}};
}

Json json_of(const TargetResult& target) {
  Json page = {{"name", target.name},
               {"limit", fmt::format("{} {:g} {}", target.is_minimum ? ">=" : "<=", target.limit, target.unit)},
               {"verdict", name(target.verdict)}};
  if (target.measured) page["measured"] = *target.measured;
  if (!target.reason.empty()) page["reason"] = target.reason;
  return page;
}

Json json_of(const DeviceReport& result) {
  Json page = {{"format", format_version},
               {"vectis", version()},
               {"device", result.device},
               {"name", result.info.name},
               {"vendor", result.info.vendor},
               {"driver", result.info.driver},
               {"kind", name(result.info.kind)},
               {"software", result.info.software},
               {"gpu", result.gpu},
               {"compute_units", result.info.compute_units},
               {"memory_bytes", result.info.memory_bytes},
               {"capabilities", result.info.capabilities.names()},
               {"seed", result.seed},
               {"rows", result.rows},
               {"dim", result.dim},
               {"passed", result.passed()},
               {"failures", result.failures},
               {"targets", Json::array()},
               {"conformance", json_of(result.conformance)},
               {"index", json_of(result.index)},
               {"cpu", json_of(result.host)},
               {"benchmarks", Json::array()},
               {"cpu_benchmarks", Json::array()},
               {"speeds", json_of(result.speeds)}};
  if (result.rates) page["prediction_rates"] = json_of(*result.rates);
  for (const TargetResult& target : result.targets) page["targets"].push_back(json_of(target));
  for (const OperationSpeed& speed : result.operations) page["benchmarks"].push_back(json_of(speed));
  for (const OperationSpeed& speed : result.host_operations) page["cpu_benchmarks"].push_back(json_of(speed));
  return page;
}

void print_searches(std::ostream& out, const DeviceReport& result) {
  std::vector<Row> rows = {
      {"search on", "precision", "1 query ms", "% of roofline", "100 queries ms", "% of roofline", "wrong"}};
  const auto add = [&](const IndexSpeed& index) {
    for (const SearchSpeed& speed : index.searches) {
      rows.push_back(
          {index.device, std::string(name(speed.precision)), fmt::format("{:.3f}", speed.single_seconds * 1e3),
           fmt::format("{:.1f}", speed.single_of_roofline * 100), fmt::format("{:.3f}", speed.batch_seconds * 1e3),
           fmt::format("{:.1f}", speed.batch_of_roofline * 100), fmt::to_string(speed.wrong)});
    }
  };
  add(result.index);
  if (result.index.device != result.host.device) add(result.host);
  print_table(out, rows, Columns::numbers);
}

void print_operations(std::ostream& out, const DeviceReport& result) {
  std::vector<Row> rows = {{"operation", "ms", "% of roofline", "CPU ms", "CPU / device"}};
  for (const OperationSpeed& speed : result.operations) {
    const auto host = std::ranges::find(result.host_operations, speed.name, &OperationSpeed::name);
    const bool has_host = host != result.host_operations.end() && host->skipped.empty();
    const bool has_both = has_host && speed.skipped.empty();
    rows.push_back({speed.name, speed.skipped.empty() ? fmt::format("{:.3f}", speed.seconds * 1e3) : "-",
                    speed.skipped.empty() ? fmt::format("{:.1f}", speed.of_roofline * 100) : speed.skipped,
                    has_host ? fmt::format("{:.3f}", host->seconds * 1e3) : "-",
                    has_both ? fmt::format("{:.2f}", host->seconds / speed.seconds) : "-"});
  }
  print_table(out, rows, Columns::numbers);
}

void add_prediction(std::vector<Row>& rows, const std::string& job, double seconds, const JobPrediction& predicted) {
  if (!predicted.missing.empty()) {
    rows.push_back({job, fmt::format("{:.3f}", seconds * 1e3), "-", "-", predicted.missing, "", "", "", ""});
    return;
  }
  const JobCounts& counts = predicted.counts;
  rows.push_back({job, fmt::format("{:.3f}", seconds * 1e3), fmt::format("{:.3f}", predicted.seconds * 1e3),
                  fmt::format("{:.2f}", seconds / predicted.seconds), predicted.wall, fmt::to_string(counts.launches),
                  fmt::to_string(counts.copies), fmt::format("{:.3g}", counts.bytes * 1e-6),
                  fmt::format("{:.3g}", counts.instructions * 1e-9)});
}

void print_predictions(std::ostream& out, const DeviceReport& result) {
  if (!result.rates) {
    fmt::print(out, "No times are predicted: the model counts the kernels of devices, and this is the CPU.\n");
    return;
  }
  fmt::print(out, "Times predicted by the model of docs/gpu-evidence.md. Rates: {}.\n", result.rates->source);
  std::vector<Row> rows = {
      {"job", "ms", "predicted ms", "ms / predicted", "wall", "launches", "copies", "MB", "10^9 instructions"}};
  for (const SearchSpeed& speed : result.index.searches) {
    const std::string_view precision = name(speed.precision);
    add_prediction(rows, fmt::format("search {}, 1 query", precision), speed.single_seconds, speed.single_predicted);
    add_prediction(rows, fmt::format("search {}, 100 queries", precision), speed.batch_seconds, speed.batch_predicted);
  }
  for (const OperationSpeed& speed : result.operations) {
    if (speed.skipped.empty()) add_prediction(rows, speed.name, speed.seconds, speed.predicted);
  }
  print_table(out, rows, Columns::numbers);
}

void print_targets(std::ostream& out, const DeviceReport& result) {
  std::vector<Row> rows = {{"target", "limit", "measured", "verdict"}};
  for (const TargetResult& target : result.targets) {
    std::string verdict(name(target.verdict));
    if (!target.reason.empty()) verdict += ": " + target.reason;
    rows.push_back({target.name,
                    fmt::format("{} {:g} {}", target.is_minimum ? "at least" : "at most", target.limit, target.unit),
                    target.measured ? fmt::format("{:.4g}", *target.measured) : "-", std::move(verdict)});
  }
  print_table(out, rows, Columns::text);
}

void print_report(std::ostream& out, const DeviceReport& result) {
  fmt::print(out, "{}: {}, driver {}; {} vectors of {} dimensions, seed {}\n\n", result.device,
             printable(result.info.name), printable(result.info.driver), result.rows, result.dim, result.seed);
  print_searches(out, result);
  fmt::print(out, "\n");
  print_operations(out, result);
  fmt::print(out, "\n");
  print_predictions(out, result);
  fmt::print(out, "\n");
  print_targets(out, result);
  for (const std::string& failure : result.failures) fmt::print(out, "\nFAILED {}\n", printable(failure, "\n"));
  fmt::print(out, "\nconformance: {} cases, {} failures\n", result.conformance.cases(), result.conformance.failed());
}

}  // namespace

int report(Runtime& runtime, std::ostream& out, std::ostream& progress, const ReportArguments& arguments) {
  const Device device =
      choose_device(runtime, {.device = arguments.device, .gpu_enabled = true, .allow_software = true}).device;
  const std::size_t rows = arguments.rows != 0 ? arguments.rows : default_rows(device);
  check_host_memory(runtime, "report", rows, arguments.dim);
  std::string path = arguments.out;
  if (path.empty()) path = fmt::format("vectis-report-{}-{}.json", device.backend(), device.id());
  std::ofstream file(path, std::ios::trunc);  // opened first, so that a wrong path fails at once
  if (!file) {
    throw Error(ErrorCode::io, "report", fmt::format("{} cannot be written; check the path and its permissions", path));
  }
  ReportOptions options;
  options.coverage = arguments.full ? conformance::Coverage::full : conformance::Coverage::slice;
  options.operations = arguments.operations;
  options.speeds = !arguments.no_speeds;
  options.rows = rows;
  options.dim = arguments.dim;
  options.seed = arguments.seed;
  options.progress = [&progress](const std::string& part) {
    fmt::print(progress, "{} ...\n", part);
    progress.flush();
  };
  const DeviceReport result = vectis::report(runtime, device, options);
  file << json_of(result).dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
  if (!file.flush())
    throw Error(ErrorCode::io, "report", fmt::format("{} cannot be written; check the free space of its disk", path));
  print_report(out, result);
  fmt::print(out, "{}: written to {}\n", result.passed() ? "passed" : "FAILED", path);
  return result.passed() ? 0 : 1;
}

}  // namespace vectis::app
