#include "carried.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "backends/plugin/carried.hpp"
#include "own.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

constexpr std::size_t log_bytes = 4096;

const char* find_carried(const CarriedKernels& carried, std::string_view text, std::string_view options) {
  if (options != carried.options) return nullptr;
  const CarriedKernel* const found = plugin::find_kernel(carried.table, text);
  return found == nullptr ? nullptr : found->ptx;
}

// Whether the driver says that it cannot use this PTX, and not that it failed at it: NVRTC may do better.
bool refuses_ptx(CUresult code) {
  constexpr std::array refusals = {CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_PTX,
                                   CUDA_ERROR_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                   CUDA_ERROR_JIT_COMPILATION_DISABLED};
  return std::find(refusals.begin(), refusals.end(), code) != refusals.end();
}

}  // namespace

bool carries_kernels(int major, int minor) {
  const CarriedKernels carried = carried_kernels();
  return !carried.table.empty() && 10 * major + minor >= carried.architecture;
}

std::string carried_words() {
  const CarriedKernels carried = carried_kernels();
  if (carried.table.empty()) return "no kernels travel with this plug-in: it was built without NVRTC";
  return std::to_string(carried.table.size()) + " built-in kernels travel as PTX for sm_" +
         std::to_string(carried.architecture) + " and newer";
}

std::optional<ModuleHandle> load_carried(const Api& api, int major, int minor, std::string_view text,
                                         std::string_view options, std::string& refusal) {
  if (!carries_kernels(major, minor)) return std::nullopt;
  const char* const ptx = find_carried(carried_kernels(), text, options);
  if (ptx == nullptr) return std::nullopt;
  std::array<char, log_bytes> log{};
  std::array keys = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers as pointers
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  const CUresult code =
      api.ModuleLoadDataEx(&module, ptx, static_cast<unsigned>(keys.size()), keys.data(), values.data());
  if (code == CUDA_SUCCESS) return module;
  if (!refuses_ptx(code)) throw failed_call(api, symbol_of_ModuleLoadDataEx, code);
  refusal = "the driver does not take the PTX that travels with the plug-in, " + describe(api, code);
  if (log[0] != '\0') refusal += std::string(": ") + log.data();
  return std::nullopt;
}

}  // namespace vectis::cuda_hip
