#include "vendor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>

#include "compiler.hpp"
#include "vendor_libraries.hpp"

namespace vectis::cuda_hip {

namespace {

// Where the field gcnArchName of 256 bytes begins in hipDeviceProp_t, by its layout. The buffer is larger than either
// layout (792 and 1,472 bytes): a newer driver may append fields.
constexpr std::size_t properties_bytes = 65536;
constexpr std::size_t architecture_offset_r0000 = 396;
constexpr std::size_t architecture_offset_r0600 = 1160;
constexpr std::size_t architecture_bytes = 256;

#if HIP_VERSION_MAJOR < 6
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == architecture_offset_r0000);
#else
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == architecture_offset_r0600);
#endif

// Whether a text is the name of an architecture, with features or without: "gfx90a:sramecc+:xnack-".
bool is_architecture(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-_:+";
  return name.starts_with("gfx") && name.find_first_not_of(letters) == std::string_view::npos;
}

// The major version in the name of a library's file, links followed: 6 for "libhiprtc.so.6.2.1"; 0 without one.
int major_of_file(const std::string& library) {
  std::error_code missing;
  const std::filesystem::path resolved = std::filesystem::canonical(library, missing);
  const std::string name = missing ? library : resolved.filename().string();
  const std::size_t suffix = name.find(".so.");
  return suffix == std::string::npos ? 0 : std::atoi(name.c_str() + suffix + 4);
}

}  // namespace

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

std::uint64_t capabilities(int, int, std::string_view architecture) {
  // CDNA GPUs whose matrix cores multiply int8 by the instructions that kernels use (MFMA).
  constexpr std::array<std::string_view, 5> with_mfma = {"gfx908", "gfx90a", "gfx940", "gfx941", "gfx942"};
  std::uint64_t bits = VECTIS_CAN_FP16 | VECTIS_CAN_FP64 | VECTIS_CAN_SUBGROUPS | VECTIS_CAN_TIMESTAMPS;
  const std::string_view without_features = architecture.substr(0, architecture.find(':'));
  if (std::ranges::find(with_mfma, without_features) != with_mfma.end())
    bits |= VECTIS_CAN_MATRIX | VECTIS_CAN_INT8_MATRIX;
  return bits;
}

std::string architecture_name(const Api& api, DeviceId device, int, int) {
  const bool newer = api.GetDevicePropertiesR0600 != nullptr;
  const auto query = newer ? api.GetDevicePropertiesR0600 : api.GetDeviceProperties;
  if (query == nullptr) return {};
  std::vector<std::max_align_t> properties(properties_bytes / sizeof(std::max_align_t));
  check(api, query(properties.data(), device), newer ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties");
  const char* const begin = reinterpret_cast<const char*>(properties.data()) +
                            (newer ? architecture_offset_r0600 : architecture_offset_r0000);
  return {begin, std::find(begin, begin + architecture_bytes, '\0')};
}

std::string slice_id(const Api&, DeviceId) { return {}; }

// Without an architecture hipRTC asks the library libamdhip64.so for the current device's, and only ROCm's development
// package installs a library of that name. hipRTC takes the features of the name too.
CompileTarget choose_target(const CompilerApi&, int, int, const std::string& architecture) {
  if (is_architecture(architecture)) return {{"--offload-arch=" + architecture}, true, {}};
  return {{}, true, "the driver reports '" + architecture + "' as the device's architecture, which is no name of one"};
}

// hipRTC of ROCm 5 and 6 states 9.0, whatever its version: the name of its file has the major version then.
std::optional<std::string> version_obstacle(const std::string& library, int compiler_major, int compiler_minor,
                                            int driver_version) {
  const bool states_version = compiler_major != 9 || compiler_minor != 0;
  const int major = states_version ? compiler_major : major_of_file(library);
  const int driver_major = driver_version / 10000000;
  if (major == 0 || major == driver_major) return std::nullopt;
  return "it is of ROCm " + std::to_string(major) + ", the driver is of ROCm " + std::to_string(driver_major) +
         ": both must have the same major version";
}

// hipRTC is a library of its own since ROCm 6 and was a part of libamdhip64 before.
std::vector<std::string> compiler_libraries(int driver_version) {
  const int major = driver_version / 10000000;
  if (major < 6) return {"libamdhip64.so.5"};
  return {"libhiprtc.so." + std::to_string(major)};
}

std::string compiler_advice(int driver_version) {
  return "install hipRTC of ROCm " + std::to_string(driver_version / 10000000) +
         " (libhiprtc), or set backends.hip.compiler (VECTIS_BACKENDS_HIP_COMPILER) to its file";
}

LibraryPlaces library_places() { return {}; }

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

std::optional<EmbeddedModule> load_embedded(const Api&, int, int, std::string_view, std::string_view, std::string&) {
  return std::nullopt;
}

std::string machine_code_of(const Api&, const char*) { throw Failure(VECTIS_UNSUPPORTED, "HIP has no PTX"); }

std::optional<std::vector<std::size_t>> parameter_sizes(const Api&, FunctionHandle) { return std::nullopt; }

// rocBLAS is not used: the portable kernel computes matrix products.
std::unique_ptr<const BlasLibrary> open_blas(const plugin::Host&, int) { return nullptr; }

// ROCm SMI is not used: HIP itself reports free memory, including the use of other processes.
std::unique_ptr<const Monitor> open_monitor(const plugin::Host&) {
  throw Failure(VECTIS_UNSUPPORTED, "HIP does not report the utilization of a device");
}

}  // namespace vectis::cuda_hip
