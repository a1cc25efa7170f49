// NVML, which comes with NVIDIA's driver. Its interface is these lines: the driver's header has none of it.
#include <array>
#include <type_traits>

#include "monitor.hpp"
#include "status.hpp"

struct nvmlDevice_st;  // NOLINT(readability-identifier-naming): NVML's own name for it

namespace vectis::cuda_hip {

namespace {

using NvmlDevice = ::nvmlDevice_st*;

struct NvmlUtilization {
  unsigned gpu = 0;     // percent of the last moments in which a kernel ran
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
  const char* (*words)(int) = nullptr;
};

Failure without_monitor(const std::string& text) { return {VECTIS_UNSUPPORTED, "NVML: " + text}; }

NvmlApi load_nvml(const plugin::Host& host) {
  const char* wanted = host.setting("monitor");
  const char* name = wanted == nullptr ? "libnvidia-ml.so.1" : wanted;
  std::array<char, 512> words{};
  VectisMessage message{sizeof(VectisMessage), words.data(), words.size(), VECTIS_REASON_NONE};
  void* library = host.library_open(name, &message);
  if (library == nullptr) throw without_monitor(std::string(name) + " cannot be opened: " + words.data());
  NvmlApi api;
  const auto need = [&](const char* symbol, auto& target) {
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(host.library_symbol(library, symbol));
    if (target == nullptr) throw without_monitor(std::string(name) + " has no " + symbol);
  };
  need("nvmlInit_v2", api.init);
  need("nvmlShutdown", api.shutdown);
  need("nvmlDeviceGetHandleByPciBusId_v2", api.handle);
  need("nvmlDeviceGetUtilizationRates", api.utilization);
  need("nvmlDeviceGetMemoryInfo", api.memory);
  need("nvmlErrorString", api.words);
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
    throw without_monitor(std::string(call) + " failed with " + api_.words(code) + " (" + std::to_string(code) + ")");
  }

  NvmlApi api_;
};

}  // namespace

std::unique_ptr<const Monitor> open_monitor(const plugin::Host& host) { return std::make_unique<Nvml>(host); }

}  // namespace vectis::cuda_hip
