#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
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

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1U << 30));
}

std::string kind(const DeviceInfo& info) {
  return info.software ? fmt::format("{}, software", name(info.kind)) : std::string(name(info.kind));
}

// The default device, or why the settings select none. The devices are listed in both cases.
struct Chosen {
  std::optional<Device> device;
  std::string reason;
};

Chosen choose(Runtime& runtime) {
  try {
    DeviceChoice choice = choose_device(runtime);
    return {choice.device, choice.reason};
  } catch (const Error& error) {
    return {std::nullopt, fmt::format("none, {}", error.what())};
  }
}

Row row(const Device& device, const std::optional<Device>& chosen) {
  const DeviceInfo& info = device.info();
  return {fmt::format("{}{}", device.id(), device == chosen ? " *" : ""),
          device.label(),
          info.name,
          kind(info),
          gibibytes(info.memory_bytes),
          fmt::format("{}", fmt::join(info.capabilities.names(), " "))};
}

Json describe(const Device& device) {
  const DeviceInfo& info = device.info();
  const auto memory = device.memory();
  const auto optional = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"id", device.id()},
          {"label", device.label()},
          {"backend", device.backend()},
          {"name", info.name},
          {"vendor", info.vendor},
          {"driver", info.driver},
          {"kind", name(info.kind)},
          {"software", info.software},
          {"parent", optional(info.parent)},
          {"compute_units", info.compute_units},
          {"memory_bytes", info.memory_bytes},
          {"memory_free_bytes", memory ? Json(memory->free_bytes) : Json(nullptr)},
          {"utilization", optional(device.utilization())},
          {"dialects", info.dialects},
          {"capabilities", info.capabilities.names()},
          {"limits",
           {{"allocation_bytes_max", info.limits.allocation_bytes_max},
            {"binding_bytes_max", std::min(info.limits.binding_bytes_max, info.limits.allocation_bytes_max)},
            {"memory_alignment", info.limits.memory_alignment},
            {"shared_bytes_max", info.limits.shared_bytes_max},
            {"group_items_max", info.limits.group_items_max},
            {"group_size_max", info.limits.group_size_max}}}};
}

void print_json(std::ostream& out, const std::vector<Device>& all, const Chosen& chosen) {
  Json list = Json::array();
  for (const Device& device : all) list.push_back(describe(device));
  const Json page = {{"default", chosen.device ? Json(chosen.device->id()) : Json(nullptr)},
                     {"reason", chosen.reason},
                     {"devices", list}};
  out << page.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int devices(Runtime& runtime, std::ostream& out, bool json) {
  const auto& all = runtime.service<DeviceRegistry>().devices();
  const Chosen chosen = choose(runtime);
  if (json) {
    print_json(out, all, chosen);
  } else {
    std::vector<Row> rows = {{"id", "device", "name", "kind", "memory", "capabilities"}};
    for (const Device& device : all) rows.push_back(row(device, chosen.device));
    print_table(out, rows, Columns::text);
    fmt::print(out, "\n* default device: {}\n", printable(chosen.reason));
    fmt::print(out, "Is a device missing? `vectis doctor` says why.\n");
  }
  return chosen.device ? 0 : 1;
}

}  // namespace vectis::app
