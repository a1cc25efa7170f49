#include "backends/plugin/embedded_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "backends/plugin/unique_handle.hpp"
#include "vendor.hpp"

namespace vectis::cuda_hip {

namespace {

constexpr std::size_t log_bytes = 4096;

// The PTX of a text for a device of this compute capability; null when there is none.
const char* find_ptx(const PtxKernels& kernels, int capability, std::string_view text, std::string_view options) {
  if (options != kernels.options) return nullptr;
  const PtxKernel* found = nullptr;
  if (capability >= kernels.newer_architecture) found = plugin::find_kernel(kernels.newer, text);
  if (found == nullptr) found = plugin::find_kernel(kernels.table, text);
  return found == nullptr ? nullptr : found->code;
}

// Whether the driver does not support the PTX, which NVRTC may compile for it, as opposed to a failure while loading.
bool rejects_ptx(CUresult code) {
  constexpr std::array rejections = {CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_PTX,
                                     CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                     CUDA_ERROR_JIT_COMPILATION_DISABLED};
  return std::find(rejections.begin(), rejections.end(), code) != rejections.end();
}

}  // namespace

bool has_embedded_kernels(int major, int minor) {
  const PtxKernels kernels = embedded_kernels();
  return !kernels.table.empty() && 10 * major + minor >= kernels.architecture;
}

std::string describe_embedded_kernels() {
  const PtxKernels kernels = embedded_kernels();
  if (kernels.table.empty()) return "no built-in kernels are embedded: the plug-in was built without NVRTC";
  return std::to_string(kernels.table.size()) + " built-in kernels are embedded as PTX for sm_" +
         std::to_string(kernels.architecture) + " and newer";
}

std::optional<EmbeddedModule> load_embedded(const Api& api, int major, int minor, std::string_view text,
                                            std::string_view options, std::string& rejection) {
  if (!has_embedded_kernels(major, minor)) return std::nullopt;
  const char* const ptx = find_ptx(embedded_kernels(), 10 * major + minor, text, options);
  if (ptx == nullptr) return std::nullopt;
  std::array<char, log_bytes> log{};
  std::array keys = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes integers as pointers
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  const CUresult code =
      api.ModuleLoadDataEx(&module, ptx, static_cast<unsigned>(keys.size()), keys.data(), values.data());
  if (code == CUDA_SUCCESS) return EmbeddedModule{module, ptx};
  if (!rejects_ptx(code)) throw failed_call(api, symbol_of_ModuleLoadDataEx, code);
  rejection = "the driver rejects the embedded PTX, " + describe(api, code);
  if (log[0] != '\0') rejection += std::string(": ") + log.data();
  return std::nullopt;
}

std::string machine_code_of(const Api& api, const char* ptx) {
  CUlinkState job = nullptr;
  VECTIS_CALL(api, LinkCreate, 0, nullptr, nullptr, &job);
  const plugin::UniqueHandle owner(job, api.LinkDestroy);
  VECTIS_CALL(api, LinkAddData, job, CU_JIT_INPUT_PTX, const_cast<char*>(ptx), std::strlen(ptx) + 1, "kernel", 0,
              nullptr, nullptr);
  void* code = nullptr;
  std::size_t bytes = 0;
  VECTIS_CALL(api, LinkComplete, job, &code, &bytes);
  return {static_cast<const char*>(code), bytes};
}

}  // namespace vectis::cuda_hip
