#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <map>

#include "device/by_id.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"

namespace vectis::inline v0_1 {

namespace {

// Tells one Runtime from a later one at the same address.
class RuntimeSerial {
 public:
  explicit RuntimeSerial(Runtime&) : value(next++) {}
  const std::uint64_t value;

 private:
  static inline std::atomic<std::uint64_t> next{1};
};

// What this thread chose, by Runtime. Only numbers: a thread may outlive the Runtime.
thread_local std::map<std::uint64_t, std::size_t> chosen;

}  // namespace

Device active_device(Runtime& runtime) {
  runtime.check_fork("active_device");
  const auto found = chosen.find(runtime.service<RuntimeSerial>().value);
  if (found == chosen.end()) return default_device(runtime);
  return runtime.service<DeviceRegistry>().devices()[found->second];
}

const Device& detail::device_by_id(Runtime& runtime, int id, std::string_view op) {
  const auto& devices = runtime.service<DeviceRegistry>().devices();
  if (id >= 0 && static_cast<std::size_t>(id) < devices.size()) return devices[static_cast<std::size_t>(id)];
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("device {} does not exist, the ids go from 0 to {}; `vectis devices` lists them", id,
                          devices.size() - 1));
}

void set_active_device(int id, Runtime& runtime) {
  runtime.check_fork("set_active_device");
  const Device& device = detail::device_by_id(runtime, id, "set_active_device");
  chosen[runtime.service<RuntimeSerial>().value] = static_cast<std::size_t>(device.id());
}

}  // namespace vectis::inline v0_1
