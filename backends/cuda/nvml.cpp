// NVML, which comes with NVIDIA's driver. Its interface is declared here: cuda.h does not contain it.
#include <string>

#include "api.hpp"
#include "vendor_libraries.hpp"

struct nvmlDevice_st;  // NOLINT(readability-identifier-naming): NVML's name

namespace vectis::cuda_hip {

namespace {

using NvmlDevice = ::nvmlDevice_st*;

struct NvmlUtilization {
  unsigned gpu = 0;     // percent of the last sample period in which a kernel ran
  unsigned memory = 0;  // percent in which memory was read or written
};

struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct NvmlApi {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*handle)(const char*, NvmlDevice*) = nullptr;
  int (*utilization)(NvmlDevice, void*) = nullptr;  // NvmlUtilization
  int (*memory)(NvmlDevice, void*) = nullptr;       // NvmlMemory
  const char* (*error_string)(int) = nullptr;
};

Failure unsupported(const std::string& text) { return {VECTIS_UNSUPPORTED, "NVML: " + text}; }

NvmlApi load_nvml(const plugin::Host& host) {
  const char* setting = host.setting("monitor");
  const plugin::Library library = host.open_library(setting == nullptr ? "libnvidia-ml.so.1" : setting);
  if (library.handle == nullptr) throw unsupported(library.name + " cannot be opened: " + library.error);
  NvmlApi api;
  const auto need = [&](const char* symbol, auto& target) {
    if (!host.find_symbol(library, symbol, target)) throw unsupported(library.name + " has no " + symbol);
  };
  need("nvmlInit_v2", api.init);
  need("nvmlShutdown", api.shutdown);
  need("nvmlDeviceGetHandleByPciBusId_v2", api.handle);
  need("nvmlDeviceGetUtilizationRates", api.utilization);
  need("nvmlDeviceGetMemoryInfo", api.memory);
  need("nvmlErrorString", api.error_string);
  return api;
}

class Nvml final : public Monitor {
 public:
  explicit Nvml(const plugin::Host& host) : api_(load_nvml(host)) { check_nvml(api_.init(), "nvmlInit_v2"); }
  ~Nvml() override { api_.shutdown(); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] double utilization(const std::string& bus) const override {
    NvmlUtilization rates;
    check_nvml(api_.utilization(device(bus), &rates), "nvmlDeviceGetUtilizationRates");
    return rates.gpu / 100.0;
  }

  [[nodiscard]] MonitoredMemory memory(const std::string& bus) const override {
    NvmlMemory state;
    check_nvml(api_.memory(device(bus), &state), "nvmlDeviceGetMemoryInfo");
    return {state.total, state.free};
  }

 private:
  [[nodiscard]] NvmlDevice device(const std::string& bus) const {
    NvmlDevice found = nullptr;
    check_nvml(api_.handle(bus.c_str(), &found), "nvmlDeviceGetHandleByPciBusId_v2");
    return found;
  }

  void check_nvml(int code, const char* call) const {
    if (code == 0) return;
    throw unsupported(std::string(call) + " failed with " + api_.error_string(code) + " (" + std::to_string(code) +
                      ")");
  }

  NvmlApi api_;
};

}  // namespace

std::unique_ptr<const Monitor> open_monitor(const plugin::Host& host) { return std::make_unique<Nvml>(host); }

}  // namespace vectis::cuda_hip
