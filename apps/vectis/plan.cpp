#include "vectis/plan.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr double milli = 1e-3;
constexpr double micro = 1e-6;
constexpr double giga = 1e9;

std::string in_giga(double amount) { return amount > 0 ? fmt::format("{:.1f}", amount / giga) : "-"; }

Row row(const DeviceProfile& profile) {
  const ByPrecision& rate = profile.operations_per_second;
  return {
      profile.device,
      fmt::format("{:.1f}", profile.launch_seconds / micro),
      fmt::format("{:.0f}", profile.compile_seconds / milli),
      fmt::format("{:.1f} + {}", profile.to_device.call_seconds / micro, in_giga(profile.to_device.bytes_per_second)),
      fmt::format("{:.1f} + {}", profile.to_host.call_seconds / micro, in_giga(profile.to_host.bytes_per_second)),
      in_giga(profile.memory_bytes_per_second),
      in_giga(rate.fp32),
      in_giga(rate.fp16),
      in_giga(rate.bf16),
      in_giga(rate.int8),
      fmt::format("{:.0f}{}", profile.calibration_seconds / milli, profile.complete ? "" : " (cut)")};
}

Json describe(const CopySpeed& speed) {
  return {{"call_seconds", speed.call_seconds}, {"bytes_per_second", speed.bytes_per_second}};
}

Json describe(const DeviceProfile& profile) {
  const ByPrecision& rate = profile.operations_per_second;
  return {
      {"device", profile.device},
      {"launch_seconds", profile.launch_seconds},
      {"compile_seconds", profile.compile_seconds},
      {"to_device", describe(profile.to_device)},
      {"to_host", describe(profile.to_host)},
      {"memory_bytes_per_second", profile.memory_bytes_per_second},
      {"operations_per_second", {{"fp32", rate.fp32}, {"fp16", rate.fp16}, {"bf16", rate.bf16}, {"int8", rate.int8}}},
      {"resolution_seconds", profile.resolution_seconds},
      {"calibration_seconds", profile.calibration_seconds},
      {"complete", profile.complete}};
}

}  // namespace

int plan(Runtime& runtime, std::ostream& out, bool fresh, bool json) {
  std::vector<Row> rows = {{"device", "launch us", "compile ms", "to device us + GB/s", "to host us + GB/s",
                            "memory GB/s", "fp32 G/s", "fp16 G/s", "bf16 G/s", "int8 G/s", "measured in ms"}};
  std::vector<std::string> failures;
  Json list = Json::array();
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    try {
      const DeviceProfile found = fresh ? calibrate(device) : profile(device);
      rows.push_back(row(found));
      list.push_back(describe(found));
    } catch (const Error& error) {
      failures.push_back(fmt::format("{}: {}", device.label(), error.what()));
      list.push_back({{"device", device.label()}, {"error", error.what()}});
    }
  }
  if (json) {
    out << Json{{"profiles", list}}.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    print_table(out, rows, Columns::numbers);
    for (const std::string& failure : failures) fmt::print(out, "{}\n", failure);
  }
  return rows.size() > 1 ? 0 : 1;
}

}  // namespace vectis::app
