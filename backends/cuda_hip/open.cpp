#include <memory>
#include <string>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

// What it means that the driver cannot even begin.
Failure failed_start(const Api& api, Code code) {
  const std::string text = std::string(symbol_of_Init) + " failed with " + describe(api, code);
  switch (static_cast<int>(code)) {
    case code_stub_library:
      return {VECTIS_BACKEND_CREATION,
              text + ": this is the stub library for linking, not the driver; remove it from the library path",
              VECTIS_REASON_NO_DRIVER};
    case code_no_device:
    case code_invalid_device:
      return {VECTIS_BACKEND_CREATION, text, VECTIS_REASON_NO_DEVICE};
    case code_driver_mismatch:
      return {VECTIS_BACKEND_CREATION, text + ": the driver's library and its kernel module differ; restart",
              VECTIS_REASON_DRIVER_TOO_OLD};
    case code_unknown:  // what is said when a kernel module is missing or its device node may not be opened
      return {VECTIS_BACKEND_CREATION, text + ": its kernel module is not loaded, or may not be opened",
              VECTIS_REASON_NO_DRIVER};
    default:
      return {VECTIS_BACKEND_CREATION, text, VECTIS_REASON_OTHER};
  }
}

int require_version(const Api& api) {
  int version = 0;
  VECTIS_CALL(api, DriverGetVersion, &version);
  if (version < least_version) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  "the driver states " + version_text(version) + ", " + version_text(least_version) + " is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  }
  return version;
}

int attribute(const Api& api, DeviceId device, Attribute which) {
  int value = 0;
  VECTIS_CALL(api, DeviceGetAttribute, &value, which, device);
  return value;
}

// Says once why nothing can be compiled for a device.
Target target_of(const VectisBackendState& state, const ListedDevice& device, int index) {
  Target target;
  target.obstacle = state.compiler.obstacle;
  if (state.compiler.obstacle.empty()) {
    try {
      target = choose_target(state.compiler.api, device.major, device.minor);
    } catch (const Failure& failure) {
      target.obstacle = failure.what();
    }
  }
  if (target.obstacle) {
    const bool carries = carries_kernels(device.major, device.minor);
    state.host.log(VECTIS_LOG_WARNING,
                   "device " + std::to_string(index) +
                       (carries ? " runs built-in kernels and compiles no others: " : " compiles no kernels: ") +
                       compiler_title + ": " + *target.obstacle + "; " + compiler_install);
  }
  return target;
}

void find_devices(VectisBackendState& state) {
  const Api& api = state.api;
  int count = 0;
  const Code code = api.DeviceGetCount(&count);
  if (static_cast<int>(code) == code_no_device) count = 0;
  if (static_cast<int>(code) != code_no_device) check(api, code, symbol_of_DeviceGetCount);
  if (count == 0) {
    throw Failure(VECTIS_BACKEND_CREATION, std::string("the ") + driver_title + " driver offers no device",
                  VECTIS_REASON_NO_DEVICE);
  }
  for (int index = 0; index < count; ++index) {
    ListedDevice device;
    VECTIS_CALL(api, DeviceGet, &device.id, index);
    device.major = attribute(api, device.id, attribute_major);
    device.minor = attribute(api, device.id, attribute_minor);
    device.target = target_of(state, device, index);
    state.devices.push_back(std::move(device));
  }
}

// What the doctor tells about kernels: which travel, and whether others can be compiled.
std::string note(const VectisBackendState& state) {
  std::string text = carried_words();
  if (!state.compiler.obstacle.empty()) {
    text += (text.empty() ? "kernels need " : "; kernels that do not travel need ") + std::string(compiler_title) +
            ", which cannot be used: " + state.compiler.obstacle + "; " + compiler_install;
    return text;
  }
  for (std::size_t index = 0; index < state.devices.size(); ++index) {
    const auto& obstacle = state.devices[index].target.obstacle;
    if (obstacle) text += "; device " + std::to_string(index) + ": " + compiler_title + ": " + *obstacle;
  }
  return text;
}

}  // namespace

VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    try {
      const Host services(*host);
      auto opened =
          std::unique_ptr<VectisBackendState>(new VectisBackendState{services, load_api(services), 0, {}, {}});
      const Code code = opened->api.Init(0);
      if (static_cast<int>(code) != 0) throw failed_start(opened->api, code);
      opened->driver_version = require_version(opened->api);
      opened->compiler = find_compiler(services, opened->driver_version);
      find_devices(*opened);
      const std::string for_the_doctor = note(*opened);
      *state = opened.release();
      return tell(message, VECTIS_OK, for_the_doctor.c_str(), VECTIS_REASON_NONE);
    } catch (const Failure& failure) {
      if (failure.reason() != VECTIS_REASON_NONE) throw;
      throw Failure(VECTIS_BACKEND_CREATION, failure.what(), VECTIS_REASON_OTHER);
    }
  });
}

void close(VectisBackendState* state) noexcept { delete state; }

}  // namespace vectis::cuda_hip
