#include "own.hpp"

#include "blas.hpp"
#include "compiler.hpp"
#include "monitor.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

const int least_version = 50000000;

const char* code_name(const Api& api, Code code) noexcept { return api.GetErrorName(code); }

std::string version_text(int version) {
  return "HIP " + std::to_string(version / 10000000) + "." + std::to_string(version % 10000000 / 100000);
}

ContextHandle retain_context(const Api&, DeviceId device) { return device; }

void release_context(const Api&, DeviceId) noexcept {}

bool has_context(const Api&, DeviceId) { return true; }

Current::Current(const Api& api, ContextHandle context) : api_(api) {
  VECTIS_CALL(api, GetDevice, &before_);
  VECTIS_CALL(api, SetDevice, context);
}

Current::~Current() {
  if (api_.SetDevice(before_) != hipSuccess) static_cast<void>(api_.SetDevice(before_));
}

std::uint64_t capabilities(int, int) {
  return VECTIS_CAN_FP16 | VECTIS_CAN_FP64 | VECTIS_CAN_SUBGROUPS | VECTIS_CAN_TIMESTAMPS;
}

// hipRTC compiles for the device that is current.
Target choose_target(const CompilerApi&, int, int) { return {}; }

std::optional<std::string> version_obstacle(int, int, int) { return std::nullopt; }

std::string compiled_code(const CompilerApi& compiler, CompilerProgram program, bool) {
  std::size_t bytes = 0;
  check_compiler(compiler, compiler.GetCodeSize(program, &bytes), "hiprtcGetCodeSize");
  std::string code(bytes, '\0');
  check_compiler(compiler, compiler.GetCode(program, code.data()), "hiprtcGetCode");
  return code;
}

// hipRTC is part of the driver: there is no device without it.
bool carries_kernels(int, int) { return false; }

std::string carried_words() { return {}; }

std::optional<ModuleHandle> load_carried(const Api&, int, int, std::string_view, std::string_view, std::string&) {
  return std::nullopt;
}

std::optional<std::vector<std::size_t>> parameter_sizes(const Api&, FunctionHandle) { return std::nullopt; }

// rocBLAS is not used: the portable kernel multiplies.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host&) { return nullptr; }

// ROCm SMI is not asked: HIP itself tells free memory, other processes' use included.
std::unique_ptr<const Monitor> open_monitor(const plugin::Host&) {
  throw Failure(VECTIS_UNSUPPORTED, "HIP does not tell how busy a device is");
}

}  // namespace vectis::cuda_hip
