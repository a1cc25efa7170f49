#include "vendor.hpp"

#include <algorithm>
#include <cstring>

#include "compiler.hpp"

namespace vectis::cuda_hip {

const int version_min = 11020;

const char* code_name(const Api& api, Code code) noexcept {
  const char* name = nullptr;
  return api.GetErrorName(code, &name) == CUDA_SUCCESS ? name : nullptr;
}

std::string version_text(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

ContextHandle retain_context(const Api& api, DeviceId device) {
  ContextHandle context = nullptr;
  VECTIS_CALL(api, DevicePrimaryCtxRetain, &context, device);
  return context;
}

void release_context(const Api& api, DeviceId device) noexcept { api.DevicePrimaryCtxRelease(device); }

bool has_context(const Api& api, DeviceId device) {
  unsigned flags = 0;
  int active = 0;
  VECTIS_CALL(api, DevicePrimaryCtxGetState, device, &flags, &active);
  return active != 0;
}

CurrentContext::CurrentContext(const Api& api, ContextHandle context) : api_(api) {
  VECTIS_CALL(api, CtxPushCurrent, context);
}

CurrentContext::~CurrentContext() { api_.CtxPopCurrent(&previous_); }

std::uint64_t capabilities(int major, int minor, std::string_view) {
  const int version = 10 * major + minor;
  std::uint64_t bits = VECTIS_CAN_FP64 | VECTIS_CAN_SUBGROUPS | VECTIS_CAN_TIMESTAMPS;
  if (version >= 53) bits |= VECTIS_CAN_FP16;
  if (version >= 61) bits |= VECTIS_CAN_INT8_DOT;
  if (version >= 70) bits |= VECTIS_CAN_MATRIX;
  if (version >= 75) bits |= VECTIS_CAN_INT8_MATRIX;
  if (version >= 80) bits |= VECTIS_CAN_BF16;
  return bits;
}

std::string architecture_name(const Api&, DeviceId, int major, int minor) {
  return "sm_" + std::to_string(10 * major + minor);
}

// The older version of the query returns the UUID of the whole device, the newer one that of the slice.
std::string slice_id(const Api& api, DeviceId device) {
  if (api.DeviceGetUuid == nullptr || api.DeviceGetUuidOfSlice == nullptr) return {};
  CUuuid whole{};
  CUuuid slice{};
  check(api, api.DeviceGetUuid(&whole, device), "cuDeviceGetUuid");
  check(api, api.DeviceGetUuidOfSlice(&slice, device), "cuDeviceGetUuid_v2");
  if (std::memcmp(whole.bytes, slice.bytes, sizeof whole.bytes) == 0) return {};
  std::string text = "mig-";
  for (const char byte : slice.bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(byte) / 16];
    text += digits[static_cast<unsigned char>(byte) % 16];
  }
  return text;
}

// NVRTC compiles machine code for the architectures it supports. A newer device runs the PTX of the newest supported
// one; a device older than all of them needs an older NVRTC.
CompileTarget choose_target(const CompilerApi& compiler, int major, int minor, const std::string& architecture) {
  int count = 0;
  check_compiler(compiler, compiler.GetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> supported(static_cast<std::size_t>(std::max(count, 0)));
  check_compiler(compiler, compiler.GetSupportedArchs(supported.data()), "nvrtcGetSupportedArchs");
  std::sort(supported.begin(), supported.end());
  const int device = 10 * major + minor;
  const auto above = std::upper_bound(supported.begin(), supported.end(), device);
  if (above == supported.begin()) {
    const std::string oldest = supported.empty() ? "none" : "sm_" + std::to_string(supported.front());
    return {{}, false, "it compiles for " + oldest + " and newer, the device is " + architecture};
  }
  const int nearest = *(above - 1);
  const bool exact = nearest == device;
  return {{std::string("--gpu-architecture=") + (exact ? "sm_" : "compute_") + std::to_string(nearest)}, exact, {}};
}

std::optional<std::string> version_obstacle(const std::string&, int compiler_major, int, int driver_version) {
  if (compiler_major <= driver_version / 1000) return std::nullopt;
  return "it is of CUDA " + std::to_string(compiler_major) + ", the driver runs code of " +
         version_text(driver_version) + " and older";
}

std::string compiled_code(const CompilerApi& compiler, CompilerProgram program, bool machine_code) {
  std::size_t bytes = 0;
  check_compiler(compiler, (machine_code ? compiler.GetCubinSize : compiler.GetPtxSize)(program, &bytes),
                 machine_code ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
  std::string code(bytes, '\0');
  check_compiler(compiler, (machine_code ? compiler.GetCubin : compiler.GetPtx)(program, code.data()),
                 machine_code ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
  return code;
}

std::optional<std::vector<std::size_t>> parameter_sizes(const Api& api, FunctionHandle function) {
  if (api.FuncGetParamInfo == nullptr) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (;;) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const Code code = api.FuncGetParamInfo(function, sizes.size(), &offset, &bytes);
    if (code == CUDA_ERROR_INVALID_VALUE) return sizes;  // one past the last parameter
    if (code != CUDA_SUCCESS) throw failed_call(api, "cuFuncGetParamInfo", code);
    sizes.push_back(bytes);
  }
}

}  // namespace vectis::cuda_hip
