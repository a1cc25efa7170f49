#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "vectis/base/error.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

using Json = nlohmann::ordered_json;

// The device that the settings select, or why there is none.
struct DefaultDevice {
  std::string label;  // empty: none
  std::string reason;
  bool invalid = false;  // the settings name a device that cannot be used
};

// Selecting a device loads every plug-in into this process, so the selection is skipped when a plug-in crashes.
DefaultDevice find_default_device(Runtime& runtime, const DoctorReport& report) {
  const auto crashed = std::ranges::find(report.backends, BackendState::crashed, &Diagnosis::state);
  if (crashed != report.backends.end()) {
    return {{}, fmt::format("not checked, because loading the plug-in {} crashes", crashed->path), false};
  }
  try {
    const DeviceChoice choice = choose_device(runtime);
    return {choice.device.label(), choice.reason, false};
  } catch (const Error& error) {
    return {{}, error.what(), true};
  }
}

Json json_of(const DoctorReport& report, const DefaultDevice& selected) {
  Json backends = Json::array();
  for (const Diagnosis& diagnosis : report.backends) {
    Json devices = Json::array();
    for (const DeviceSummary& device : diagnosis.devices) {
      devices.push_back({{"name", device.name},
                         {"driver", device.driver},
                         {"software", device.software},
                         {"runs_kernels", device.runs_kernels},
                         {"physical_id", device.physical_id},
                         {"same_card_as", device.same_card_as}});
    }
    backends.push_back({{"backend", diagnosis.backend},
                        {"state", name(diagnosis.state)},
                        {"reason", diagnosis.reason},
                        {"advice", diagnosis.advice},
                        {"requirement", diagnosis.requirement},
                        {"path", diagnosis.path},
                        {"devices", devices}});
  }
  return {{"system", report.system},
          {"default", selected.label.empty() ? Json(nullptr) : Json(selected.label)},
          {"reason", selected.reason},
          {"warnings", report.warnings},
          {"backends", backends}};
}

}  // namespace

int doctor(Runtime& runtime, std::ostream& out, bool json) {
  const DoctorReport report = diagnose(runtime);
  const DefaultDevice selected = find_default_device(runtime, report);
  if (json) {
    out << json_of(report, selected).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    std::ostringstream text;
    print(text, report);
    fmt::print(text, "Default device: {}: {}\n", selected.label.empty() ? "none" : selected.label, selected.reason);
    out << printable(text.str(), "\n");
  }
  return selected.invalid ? 1 : 0;
}

}  // namespace vectis::app
