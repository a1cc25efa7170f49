#include "vectis/device/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <ranges>
#include <vector>

#include "device/advice.hpp"
#include "device/backend_names.hpp"
#include "device/ranking.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::string_view choose_op = "choose_device";

// A value and where it was requested: "the call", a variable, or file and line.
template <class T>
struct Requested {
  T value;
  std::string by;
};

// A request with every field filled from the settings.
struct Request {
  Requested<std::string> device;
  Requested<bool> gpu_enabled;
  Requested<bool> allow_software;
};

std::string origin(const Setting& setting, std::string_view key) {
  return setting.origin == SettingOrigin::file ? fmt::format("'{}' in {}", key, setting.source) : setting.source;
}

Requested<bool> flag(const Settings& settings, const std::optional<bool>& given, std::string_view key) {
  if (given) return {*given, "the call"};
  return {settings.flag(key), origin(settings.get(key), key)};
}

Request complete(const Settings& settings, const DeviceRequest& request) {
  const Setting device = settings.get("device");
  return {request.device ? Requested<std::string>{*request.device, "the call"}
                         : Requested<std::string>{device.value, origin(device, "device")},
          flag(settings, request.gpu_enabled, "gpu.enabled"),
          flag(settings, request.allow_software, "gpu.allow_software")};
}

bool is_working_gpu(const Device& device) { return device.is_gpu() && detail::runs_kernels(device.info()); }

bool counts_as_gpu(const Device& device, const Request& request) {
  return is_working_gpu(device) || (device.info().software && request.allow_software.value);
}

// Every allowed device in the automatic order: GPUs that can run kernels in the order of ids, allowed software drivers
// after them, the CPU last.
std::vector<Device> automatic_candidates(const DeviceRegistry& registry, const Request& request) {
  std::vector<Device> result;
  if (request.gpu_enabled.value) {
    std::ranges::copy_if(registry.devices(), std::back_inserter(result),
                         [&](const Device& device) { return counts_as_gpu(device, request); });
  }
  std::ranges::copy_if(registry.devices(), std::back_inserter(result),
                       [](const Device& device) { return device.backend() == "cpu"; });
  return result;
}

// "; hip:0 can run no kernels: ..., and is used only on request" for each GPU that is ranked after the CPU.
std::string unranked_gpus(const DeviceRegistry& registry) {
  std::string text;
  for (const BackendStatus& status : registry.backends()) {
    for (const Device& device : status.devices) {
      if (!device.is_gpu() || is_working_gpu(device)) continue;
      text += fmt::format("; {}; it is used only on request", detail::why_no_kernels(device, status));
    }
  }
  return text;
}

std::string automatic_reason(const DeviceRegistry& registry, const Device& device, const Request& request) {
  if (!request.gpu_enabled.value)
    return fmt::format("only the CPU is allowed: gpu.enabled is false by {}", request.gpu_enabled.by);
  if (device.backend() != "cpu") {
    return fmt::format("{} is the first usable device in the automatic order{}", device.label(),
                       unranked_gpus(registry));
  }
  return "no usable GPU was found, so the CPU is used" + unranked_gpus(registry);
}

std::string why_no_gpu(Runtime& runtime, const DeviceRegistry& registry) {
  std::vector<std::string> reasons;
  for (const BackendStatus& status : registry.backends()) {
    if (status.name == "cpu") continue;
    reasons.push_back(detail::why_unusable(runtime.os(), status));
  }
  return fmt::format("no GPU is usable: {}", fmt::join(reasons, "; "));
}

[[noreturn]] void throw_unknown(const DeviceRegistry& registry, const Request& request) {
  const std::string& requested = request.device.value;
  const bool is_number =
      !requested.empty() && std::ranges::all_of(requested, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) {
    throw Error(ErrorCode::invalid_input, choose_op,
                fmt::format("device {} was requested by {}, but the ids go from 0 to {}; `vectis devices` lists them",
                            requested, request.device.by, registry.devices().size() - 1));
  }
  const auto labels = registry.devices() | std::views::transform([](const Device& device) { return device.label(); });
  throw Error(
      ErrorCode::unsupported_backend, choose_op,
      fmt::format("'{}' was requested by {} and is not a device of this machine; use one of: auto, gpu, {}", requested,
                  request.device.by, fmt::join(std::vector<std::string>(labels.begin(), labels.end()), ", ")));
}

[[noreturn]] void throw_no_metal(Runtime& runtime, const DeviceRegistry& registry, const Request& request) {
  const auto webgpu = std::ranges::find(registry.backends(), "webgpu", &BackendStatus::name);
  std::string why = "the backend webgpu is not installed";
  if (webgpu != registry.backends().end()) {
    why = webgpu->state == BackendState::ready ? "webgpu has no such device on this machine"
                                               : detail::why_unusable(runtime.os(), *webgpu);
  }
  throw Error(
      ErrorCode::unsupported_backend, choose_op,
      fmt::format("'{}' was requested by {}; Vectis has no Metal backend yet and uses Apple's GPUs through WebGPU, but "
                  "{}; on a Mac install the backend webgpu, elsewhere use auto, gpu or a device that `vectis devices` "
                  "lists",
                  request.device.value, request.device.by, why));
}

// The device that the request names. Throws when there is none.
Device named_device(Runtime& runtime, const DeviceRegistry& registry, const Request& request) {
  const std::string& requested = request.device.value;
  if (requested == "gpu") {
    const auto found =
        std::ranges::find_if(registry.devices(), [&](const Device& device) { return counts_as_gpu(device, request); });
    if (found == registry.devices().end())
      throw Error(ErrorCode::backend_creation, choose_op, why_no_gpu(runtime, registry));
    return *found;
  }
  if (const auto found = registry.find(requested)) return *found;
  const std::string_view backend = detail::plugin_name(detail::backend_part(requested));
  const auto status = std::ranges::find(registry.backends(), backend, &BackendStatus::name);
  if (backend == "metal" && status == registry.backends().end()) throw_no_metal(runtime, registry, request);
  if (status == registry.backends().end() || status->state == BackendState::ready) throw_unknown(registry, request);
  throw Error(ErrorCode::backend_creation, choose_op, detail::why_unusable(runtime.os(), *status));
}

Device checked_named_device(Runtime& runtime, const DeviceRegistry& registry, const Request& request) {
  Device device = named_device(runtime, registry, request);
  if (!request.gpu_enabled.value && device.backend() != "cpu") {
    throw Error(ErrorCode::backend_creation, choose_op,
                fmt::format("{} was requested by {}, but gpu.enabled is false by {}; set gpu.enabled to true",
                            device.label(), request.device.by, request.gpu_enabled.by));
  }
  return device;
}

// Distinguishes a Runtime from a later one at the same address.
class RuntimeSerial {
 public:
  explicit RuntimeSerial(Runtime&) : value(next++) {}
  const std::uint64_t value;

 private:
  static inline std::atomic<std::uint64_t> next{1};
};

// The device id that this thread set, by RuntimeSerial. Ids rather than Devices, since a thread may outlive the
// Runtime.
thread_local std::map<std::uint64_t, int> active_ids;

}  // namespace

DeviceChoice choose_device(Runtime& runtime, const DeviceRequest& request) {
  runtime.check_fork(choose_op);
  const auto& registry = runtime.service<DeviceRegistry>();
  const Request full = complete(runtime.settings(), request);
  if (full.device.value != "auto") {
    return {checked_named_device(runtime, registry, full),
            fmt::format("'{}' was requested by {}", full.device.value, full.device.by)};
  }
  const Device device = automatic_candidates(registry, full).front();
  return {device, automatic_reason(registry, device, full)};
}

std::vector<Device> allowed_devices(Runtime& runtime, const DeviceRequest& request) {
  return detail::best_per_card(detail::candidate_devices(runtime, request));
}

std::vector<Device> detail::candidate_devices(Runtime& runtime, const DeviceRequest& request) {
  runtime.check_fork(choose_op);
  const auto& registry = runtime.service<DeviceRegistry>();
  const Request full = complete(runtime.settings(), request);
  if (full.device.value == "auto") return automatic_candidates(registry, full);
  std::vector<Device> result = {checked_named_device(runtime, registry, full)};
  if (full.device.value != "gpu") return result;
  for (const Device& device : registry.devices()) {
    if (counts_as_gpu(device, full) && device != result.front()) result.push_back(device);
  }
  return result;
}

DeviceContext open_device(Runtime& runtime, const DeviceRequest& request) {
  runtime.check_fork(choose_op);
  const auto& registry = runtime.service<DeviceRegistry>();
  const Request full = complete(runtime.settings(), request);
  if (full.device.value != "auto") return DeviceContext(checked_named_device(runtime, registry, full));
  const std::vector<Device> candidates = automatic_candidates(registry, full);
  for (const Device& device : std::span(candidates).first(candidates.size() - 1)) {
    try {
      return DeviceContext(device);
    } catch (const Error& error) {
      runtime.logger().log(LogLevel::warning, "device", fmt::format("{} is skipped: {}", device.label(), error.what()));
    }
  }
  return DeviceContext(candidates.back());  // the CPU: there is no further fallback, so its failure is the caller's
}

Device default_device(Runtime& runtime) { return choose_device(runtime).device; }

namespace {

// Whether the plug-in has a real GPU or accelerator that can run kernels.
bool has_gpu(Runtime& runtime, std::string_view plugin) {
  return std::ranges::any_of(runtime.service<DeviceRegistry>().devices(), [&](const Device& device) {
    return is_working_gpu(device) && device.backend() == plugin;
  });
}

}  // namespace

bool is_cuda_available(Runtime& runtime) { return has_gpu(runtime, "cuda"); }
bool is_hip_available(Runtime& runtime) { return has_gpu(runtime, "hip"); }
bool is_rocm_available(Runtime& runtime) { return is_hip_available(runtime); }
bool is_webgpu_available(Runtime& runtime) { return has_gpu(runtime, "webgpu"); }
bool is_opencl_available(Runtime& runtime) { return has_gpu(runtime, "opencl"); }

bool is_metal_available(Runtime& runtime) {
  return std::ranges::any_of(runtime.service<DeviceRegistry>().devices(), [](const Device& device) {
    return is_working_gpu(device) && (device.backend() == "metal" || detail::is_on_metal(device));
  });
}

bool is_gpu_available(Runtime& runtime) {
  return std::ranges::any_of(runtime.service<DeviceRegistry>().devices(), is_working_gpu);
}

std::string detect_best_backend(Runtime& runtime) {
  const auto& devices = runtime.service<DeviceRegistry>().devices();
  const auto found = std::ranges::find_if(devices, is_working_gpu);
  return found == devices.end() ? "cpu" : std::string(found->backend());
}

Device active_device(Runtime& runtime) {
  const std::optional<Device> own = thread_device(runtime);
  return own ? *own : default_device(runtime);
}

std::optional<Device> thread_device(Runtime& runtime) {
  runtime.check_fork("active_device");
  const auto found = active_ids.find(runtime.service<RuntimeSerial>().value);
  if (found == active_ids.end()) return std::nullopt;
  return runtime.service<DeviceRegistry>().at(found->second, "active_device");
}

void reset_active_device(Runtime& runtime) {
  runtime.check_fork("reset_active_device");
  active_ids.erase(runtime.service<RuntimeSerial>().value);
}

void set_active_device(int id, Runtime& runtime) {
  runtime.check_fork("set_active_device");
  const Device& device = runtime.service<DeviceRegistry>().at(id, "set_active_device");
  active_ids[runtime.service<RuntimeSerial>().value] = device.id();
}

}  // namespace vectis::inline v0_1
