#include "vendor.hpp"

#include "compiler.hpp"
#include "vendor_libraries.hpp"

namespace vectis::cuda_hip {

const int version_min = 50000000;

const char* code_name(const Api& api, Code code) noexcept { return api.GetErrorName(code); }

std::string version_text(int version) {
  return "HIP " + std::to_string(version / 10000000) + "." + std::to_string(version % 10000000 / 100000);
}

ContextHandle retain_context(const Api&, DeviceId device) { return device; }

void release_context(const Api&, DeviceId) noexcept {}

bool has_context(const Api&, DeviceId) { return true; }

CurrentContext::CurrentContext(const Api& api, ContextHandle context) : api_(api) {
  VECTIS_CALL(api, GetDevice, &previous_);
  VECTIS_CALL(api, SetDevice, context);
}

CurrentContext::~CurrentContext() {
  if (api_.SetDevice(previous_) != hipSuccess) static_cast<void>(api_.SetDevice(previous_));
}

std::uint64_t capabilities(int, int) {
  return VECTIS_CAN_FP16 | VECTIS_CAN_FP64 | VECTIS_CAN_SUBGROUPS | VECTIS_CAN_TIMESTAMPS;
}

// hipRTC compiles for the current device.
CompileTarget choose_target(const CompilerApi&, int, int) { return {}; }

std::optional<std::string> version_obstacle(int, int, int) { return std::nullopt; }

std::string compiled_code(const CompilerApi& compiler, CompilerProgram program, bool) {
  std::size_t bytes = 0;
  check_compiler(compiler, compiler.GetCodeSize(program, &bytes), "hiprtcGetCodeSize");
  std::string code(bytes, '\0');
  check_compiler(compiler, compiler.GetCode(program, code.data()), "hiprtcGetCode");
  return code;
}

// hipRTC is part of ROCm: no device is without a compiler, so no kernels are embedded.
bool has_embedded_kernels(int, int) { return false; }

std::string describe_embedded_kernels() { return {}; }

std::optional<ModuleHandle> load_embedded(const Api&, int, int, std::string_view, std::string_view, std::string&) {
  return std::nullopt;
}

std::optional<std::vector<std::size_t>> parameter_sizes(const Api&, FunctionHandle) { return std::nullopt; }

// rocBLAS is not used: the portable kernel computes matrix products.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host&) { return nullptr; }

// ROCm SMI is not used: HIP itself reports free memory, including the use of other processes.
std::unique_ptr<const Monitor> open_monitor(const plugin::Host&) {
  throw Failure(VECTIS_UNSUPPORTED, "HIP does not report the utilization of a device");
}

}  // namespace vectis::cuda_hip
