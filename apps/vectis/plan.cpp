#include "vectis/plan.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

using Json = nlohmann::ordered_json;

// "350 GFLOP/s", "-" for a rate that was not measured.
std::string rate(double per_second, const char* unit) {
  constexpr std::array prefixes = {"", "k", "M", "G", "T", "P"};
  if (per_second <= 0) return "-";
  std::size_t prefix = 0;
  for (; per_second >= 1000 && prefix + 1 < prefixes.size(); ++prefix) per_second /= 1000;
  return fmt::format("{:.3g} {}{}/s", per_second, prefixes[prefix], unit);
}

std::string duration(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.1f} s", seconds);
}

std::string copy(const CopySpeed& speed) {
  return fmt::format("{} + {}", duration(speed.call_seconds), rate(speed.bytes_per_second, "B"));
}

std::string age(std::int64_t seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  if (seconds < minute) return "just now";
  if (seconds < 2 * hour) return fmt::format("{} min ago", seconds / minute);
  return seconds < 2 * day ? fmt::format("{} h ago", seconds / hour) : fmt::format("{} days ago", seconds / day);
}

std::string calibrated(const DeviceProfile& profile, std::int64_t now) {
  return fmt::format("{}, {} in {}{}", age(now - profile.measured_at),
                     profile.measurements == 1 ? "once" : fmt::format("best of {}", profile.measurements),
                     duration(profile.calibration_seconds), profile.complete ? "" : " (incomplete)");
}

Row row(const DeviceProfile& profile, std::int64_t now) {
  const ByPrecision& operations = profile.operations_per_second;
  return {profile.device,
          duration(profile.launch_seconds),
          duration(profile.compile_seconds),
          copy(profile.to_device),
          copy(profile.to_host),
          rate(profile.memory_bytes_per_second, "B"),
          rate(operations.fp32, "FLOP"),
          rate(operations.fp16, "FLOP"),
          rate(operations.bf16, "FLOP"),
          rate(operations.int8, "OP"),
          calibrated(profile, now)};
}

Json to_json(const CopySpeed& speed) {
  return {{"call_seconds", speed.call_seconds}, {"bytes_per_second", speed.bytes_per_second}};
}

Json to_json(const DeviceProfile& profile) {
  const ByPrecision& operations = profile.operations_per_second;
  return {
      {"device", profile.device},
      {"launch_seconds", profile.launch_seconds},
      {"compile_seconds", profile.compile_seconds},
      {"to_device", to_json(profile.to_device)},
      {"to_host", to_json(profile.to_host)},
      {"memory_bytes_per_second", profile.memory_bytes_per_second},
      {"operations_per_second",
       {{"fp32", operations.fp32}, {"fp16", operations.fp16}, {"bf16", operations.bf16}, {"int8", operations.int8}}},
      {"resolution_seconds", profile.resolution_seconds},
      {"calibration_seconds", profile.calibration_seconds},
      {"measured_at", profile.measured_at},
      {"measurements", profile.measurements},
      {"complete", profile.complete}};
}

int show_profiles(Runtime& runtime, std::ostream& out, bool fresh, bool json) {
  std::vector<Row> rows = {{"device", "launch", "compile", "copy to device", "copy to host", "memory", "fp32", "fp16",
                            "bf16", "int8", "calibrated"}};
  std::vector<std::string> failures;
  Json list = Json::array();
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    try {
      const DeviceProfile found = fresh ? recalibrate(device) : profile(device);
      rows.push_back(row(found, runtime.os().unix_seconds()));
      list.push_back(to_json(found));
    } catch (const Error& error) {
      failures.push_back(fmt::format("{}: {}", device.label(), error.what()));
      list.push_back({{"device", device.label()}, {"error", error.what()}});
    }
  }
  if (json) {
    out << Json{{"profiles", list}}.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    print_table(out, rows, Columns::numbers);
    for (const std::string& failure : failures) fmt::print(out, "{}\n", printable(failure, "\n"));
    fmt::print(out,
               "\nlaunch: latency of an empty kernel. compile: a kernel that is in no cache. copy: cost per call + "
               "bandwidth.\nfp32 to int8: rate of matrix products; a multiply-add counts as two operations.\n"
               "To predict a workload, add --matmul M N K, or --operations, --bytes, --copy-in and --copy-out.\n");
  }
  return rows.size() > 1 ? 0 : 1;
}

Json to_json(const Assessment& candidate) {
  const Prediction& predicted = candidate.predicted;
  Json json = {{"candidate", candidate.label}};
  if (!candidate.excluded.empty()) json["excluded"] = candidate.excluded;
  json["seconds"] = predicted.seconds();
  json["launch_seconds"] = predicted.launch;
  json["compile_seconds"] = predicted.compile;
  json["copy_seconds"] = predicted.copy;
  json["compute_seconds"] = predicted.compute;
  return json;
}

Precision precision_named(const std::string& text) {
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    if (name(precision) == text) return precision;
  }
  throw Error(ErrorCode::invalid_input, "plan",
              fmt::format("'{}' is no precision; use fp32, fp16, bf16 or int8", text));
}

Workload workload_of(const PlanArguments& arguments) {
  const Precision precision = precision_named(arguments.precision);
  Workload workload{.name = "vectis plan",
                    .bytes = arguments.bytes,
                    .copy_in_bytes = arguments.copy_in_bytes,
                    .copy_out_bytes = arguments.copy_out_bytes,
                    .launches = arguments.launches};
  workload.operations.at(precision) = arguments.operations;
  if (arguments.matmul.empty()) return workload;
  const double m = arguments.matmul[0];
  const double n = arguments.matmul[1];
  const double k = arguments.matmul[2];
  workload.operations.at(precision) += 2 * m * n * k;
  const double factors = (m * k + k * n) * static_cast<double>(size_of(precision));
  workload.bytes += factors + m * n * sizeof(float);
  return workload;
}

// The CPU needs no copies: its memory is the host's.
int predict(Runtime& runtime, std::ostream& out, const PlanArguments& arguments, bool json) {
  const Workload workload = workload_of(arguments);
  std::vector<Placement> candidates;
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    Workload here = workload;
    if (device.backend() == "cpu") here.copy_in_bytes = here.copy_out_bytes = 0;
    candidates.emplace_back(device, here);
  }
  const Choice choice = planner(runtime).choose(candidates);
  if (!json) {
    out << printable(choice.explain(), "\n");
    return 0;
  }
  Json list = Json::array();
  for (const Assessment& candidate : choice.candidates) list.push_back(to_json(candidate));
  const Json page = {
      {"chosen", choice.candidates[choice.index].label}, {"reason", choice.reason}, {"candidates", list}};
  out << page.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  return 0;
}

}  // namespace

int plan(Runtime& runtime, std::ostream& out, const PlanArguments& arguments, bool json) {
  const bool has_workload =
      !arguments.matmul.empty() ||
      arguments.operations + arguments.bytes + arguments.copy_in_bytes + arguments.copy_out_bytes > 0;
  return has_workload ? predict(runtime, out, arguments, json) : show_profiles(runtime, out, arguments.fresh, json);
}

}  // namespace vectis::app
