#include "device/probe.hpp"

#include <nlohmann/json.hpp>

namespace vectis::inline v0_1::detail {

using nlohmann::json;

std::string to_line(const Diagnosis& diagnosis, const std::string& install) {
  json devices = json::array();
  for (const DeviceSummary& device : diagnosis.devices) {
    devices.push_back({{"name", device.name},
                       {"driver", device.driver},
                       {"software", device.software},
                       {"runs_kernels", device.runs_kernels},
                       {"physical_id", device.physical_id}});
  }
  const json line = {{"backend", diagnosis.backend},
                     {"path", diagnosis.path},
                     {"requirement", diagnosis.requirement},
                     {"state", static_cast<int>(diagnosis.state)},
                     {"reason", diagnosis.reason},
                     {"install", install},
                     {"devices", devices}};
  // A driver's text may be invalid UTF-8: invalid bytes are replaced.
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ProbeAnswer> parse_line(const std::string& line) {
  const json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  try {
    ProbeAnswer answer;
    Diagnosis& diagnosis = answer.diagnosis;
    diagnosis.backend = parsed.at("backend").get<std::string>();
    diagnosis.path = parsed.at("path").get<std::string>();
    diagnosis.requirement = parsed.at("requirement").get<std::string>();
    diagnosis.state = static_cast<BackendState>(parsed.at("state").get<std::uint8_t>());
    diagnosis.reason = parsed.at("reason").get<std::string>();
    answer.install = parsed.at("install").get<std::string>();
    for (const json& device : parsed.at("devices")) {
      diagnosis.devices.push_back({device.at("name").get<std::string>(), device.at("driver").get<std::string>(),
                                   device.at("software").get<bool>(), device.at("runs_kernels").get<bool>(),
                                   device.at("physical_id").get<std::string>()});
    }
    return answer;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace vectis::inline v0_1::detail
