#include <nlohmann/json.hpp>
#include <ostream>

#include "vectis/commands.hpp"
#include "vectis/device.hpp"

namespace vectis::app {

int doctor(Runtime& runtime, std::ostream& out, bool json) {
  const DoctorReport report = diagnose(runtime);
  if (!json) {
    print(out, report);
    return 0;
  }
  nlohmann::ordered_json backends = nlohmann::ordered_json::array();
  for (const Diagnosis& diagnosis : report.backends) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const DeviceSummary& device : diagnosis.devices) {
      devices.push_back({{"name", device.name}, {"driver", device.driver}, {"software", device.software}});
    }
    backends.push_back({{"backend", diagnosis.backend},
                        {"state", name(diagnosis.state)},
                        {"reason", diagnosis.reason},
                        {"advice", diagnosis.advice},
                        {"requirement", diagnosis.requirement},
                        {"path", diagnosis.path},
                        {"devices", devices}});
  }
  const nlohmann::ordered_json page = {{"system", report.system}, {"backends", backends}};
  out << page.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  return 0;
}

}  // namespace vectis::app
