#include "vectis/kernel/conformance.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <ostream>
#include <set>

#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

namespace suite = vectis::conformance;

constexpr std::uint64_t second = 1'000'000'000;

Device find_device(Runtime& runtime, const std::string& text) {
  return choose_device(runtime, {.device = text, .gpu_enabled = true, .allow_software = true}).device;
}

// What was asked for; for the support table otherwise the first device of every backend that is ready.
std::vector<Device> devices_of(Runtime& runtime, const ConformanceArguments& arguments) {
  std::vector<Device> found;
  found.reserve(arguments.backends.size());
  for (const std::string& text : arguments.backends) found.push_back(find_device(runtime, text));
  if (!found.empty()) return found;
  if (arguments.mode != "support") {
    throw Error(ErrorCode::invalid_input, "conformance",
                "no backend was named; say --backend with one that `vectis devices` lists");
  }
  std::set<std::string> seen;
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    if (seen.insert(std::string(device.backend())).second) found.push_back(device);
  }
  return found;
}

// At most a line a second, so that a short run stays quiet.
suite::Options options_of(const ConformanceArguments& arguments, std::ostream& progress) {
  suite::Options options;
  options.operations = arguments.operations;
  options.case_name = arguments.case_name;
  options.seed = arguments.seed;
  options.seconds = arguments.seconds;
  options.stop_at_failure = arguments.fail_fast;
  if (arguments.slice) options.coverage = suite::Coverage::slice;
  if (arguments.full) options.coverage = suite::Coverage::full;
  options.progress = [&progress, last_report = monotonic_nanoseconds()](const std::string& what, std::size_t done,
                                                                        std::size_t all) mutable {
    if (monotonic_nanoseconds() - last_report < second) return;
    last_report = monotonic_nanoseconds();
    if (all == 0) return fmt::print(progress, "{}\n", what);
    fmt::print(progress, "{}/{} {}\n", done, all, what);
    progress.flush();
  };
  return options;
}

std::string verdict(const suite::Line& line) {
  if (line.failures != 0) return "FAILED";
  if (line.not_offered != 0) return line.partly_offered() ? "partly offered" : "not offered";
  if (line.cases == 0) return "no case ran";
  return line.limit != 0 && line.has_headroom() ? "passed, error below a quarter of the limit" : "passed";
}

std::string error_text(double error, double limit) {
  return limit == 0 && error == 0 ? "0" : fmt::format("{:.2e}", error);
}

// Says how many lines the device does not offer, and how many it offers in part.
void print_offered(std::ostream& out, const suite::Report& report) {
  const auto partly = std::ranges::count_if(report.lines, &suite::Line::partly_offered);
  const auto missing =
      std::ranges::count_if(report.lines, [](const suite::Line& line) { return line.not_offered != 0; }) - partly;
  const std::size_t all = report.lines.size();
  if (missing != 0) {
    fmt::print(out, "{} of {} lines are not offered: the backend has no run_op for them and compiles no kernels\n",
               missing, all);
  }
  if (partly != 0) fmt::print(out, "{} of {} lines are offered in part: see `partly offered` above\n", partly, all);
}

void print_report(std::ostream& out, const suite::Report& report) {
  std::vector<Row> rows = {{"operation", "types", "cases", "failures", "worst error", "limit", "verdict"}};
  for (const suite::Line& line : report.lines) {
    rows.push_back({line.operation, line.types, fmt::to_string(line.cases), fmt::to_string(line.failures),
                    error_text(line.worst, line.limit), line.limit == 0 ? "exact" : fmt::format("{:.2e}", line.limit),
                    verdict(line)});
  }
  print_table(out, rows, Columns::numbers);
  for (const suite::Failure& failure : report.failures) {
    fmt::print(out, "\n{} {}\n  {}\n", failure.operation, failure.case_name, printable(failure.what, "\n"));
    fmt::print(out, "  to repeat: vectis conformance --backend {} --op {}{} --seed {}\n", report.device,
               failure.operation, failure.case_name.empty() ? "" : fmt::format(" --case '{}'", failure.case_name),
               report.seed);
  }
  fmt::print(out, "\n{}: {} cases, {} failures, seed {}\n", report.device, report.cases(), report.failed(),
             report.seed);
  print_offered(out, report);
}

void print_speeds(std::ostream& out, const suite::SpeedReport& report) {
  std::vector<Row> rows = {{"operation", "types", "ms", "GFLOP/s", "GB/s", "% of roofline", "error"}};
  for (const suite::Speed& speed : report.speeds) {
    if (!speed.failure.empty()) {
      rows.push_back({speed.operation, speed.types, "", "", "", "", "FAILED: " + speed.failure});
      continue;
    }
    rows.push_back({speed.operation, speed.types, fmt::format("{:.3f}", speed.seconds * 1e3),
                    fmt::format("{:.2f}", speed.gigaflops), fmt::format("{:.2f}", speed.gigabytes),
                    fmt::format("{:.1f}", speed.of_roofline * 100), error_text(speed.error, speed.limit)});
  }
  print_table(out, rows, Columns::numbers);
  fmt::print(out, "\n{}: roofline {:.1f} GFLOP/s (the best product of matrices), {:.1f} GB/s (the best copy)\n",
             report.device, report.peak_gigaflops, report.peak_gigabytes);
}

std::optional<std::ofstream> csv_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::ofstream file(path, std::ios::trunc);
  if (!file) {
    throw Error(ErrorCode::io, "conformance",
                fmt::format("{} cannot be written; check the path and its permissions", path));
  }
  return file;
}

// "metal=FILE"
std::vector<suite::TranslatedColumn> translated_columns(const std::string& asked) {
  if (asked.empty()) return {};
  const std::size_t equals = std::min(asked.find('='), asked.size());
  std::ifstream file(asked.substr(std::min(equals + 1, asked.size())));
  if (equals == asked.size() || !file) {
    throw Error(ErrorCode::invalid_input, "conformance",
                fmt::format("--translated '{}' names no backend and readable file; write it as metal=FILE", asked));
  }
  suite::TranslatedColumn column{asked.substr(0, equals), {}};
  for (std::uint64_t text = 0; file >> std::hex >> text;) column.texts.insert(text);
  return {std::move(column)};
}

// The end of docs/support.md.
constexpr std::string_view matrix_units = R"(
## Matrix units
| backend | matrix units | used for |
|---|---|---|
| cpu | AMX: int8, bfloat16 | exact search on the CPU; products by oneDNN |
| cuda | int8 by `mma.sync`, sm_75 and newer; *runs on a test driver*, which computes the instruction lane by lane | `scan_bounds` from 33 queries on; products by cuBLASLt, which chooses its own |
| hip | int8 by MFMA (`v_mfma_i32_16x16x16i8`, `v_mfma_i32_16x16x32_i8`), CDNA GPUs: gfx908, gfx90a, gfx940 to gfx942; *runs on a test driver*, which computes the instructions lane by lane. WMMA of RDNA GPUs is not used | `scan_bounds` from 33 queries on |
| opencl, webgpu, metal | not used | |
)";

}  // namespace

int conformance(Runtime& runtime, std::ostream& out, std::ostream& progress, const ConformanceArguments& arguments) {
  const suite::Options options = options_of(arguments, progress);
  if (arguments.list) {
    for (const std::string& name : suite::names(options)) fmt::print(out, "{}\n", name);
    return 0;
  }
  std::optional<std::ofstream> csv = csv_file(arguments.csv);
  const std::vector<suite::TranslatedColumn> translated = translated_columns(arguments.translated);
  std::vector<suite::SupportColumn> columns;
  bool passed = true;
  for (const Device& device : devices_of(runtime, arguments)) {
    if (arguments.mode == "perf") {
      const suite::SpeedReport report = suite::measure(runtime, device, options);
      print_speeds(out, report);
      if (csv) write_csv(*csv, report);
      for (const suite::Speed& speed : report.speeds) passed = passed && speed.failure.empty();
      continue;
    }
    suite::Report report =
        arguments.mode == "fuzz" ? suite::fuzz(runtime, device, options) : suite::test(runtime, device, options);
    if (csv) write_csv(*csv, report);
    passed = passed && report.passed();
    if (arguments.mode == "support") {
      const bool test_driven =
          std::ranges::find(arguments.test_driven, device.backend()) != arguments.test_driven.end();
      columns.push_back({std::string(device.backend()), device.info().software, std::move(report), test_driven});
    } else {
      print_report(out, report);
    }
  }
  if (arguments.mode == "support") {
    suite::write_support(out, columns, translated);
    fmt::print(out, "{}", matrix_units);
    return 0;
  }
  return passed ? 0 : 1;
}

}  // namespace vectis::app
