#include "api.hpp"

#include <filesystem>
#include <string>

#include "vendor.hpp"

namespace vectis::cuda_hip {

namespace {

plugin::Library open_driver(const Host& host) {
  if (const char* setting = host.setting("driver"); setting != nullptr) return host.open_library(setting);
  plugin::Library library;
  for (const char* name : driver_libraries) {
    library = host.open_library(name);
    if (library.handle != nullptr) break;
  }
  return library;
}

// What to do about a code that comes from the machine's setup.
const char* advice_of(Code code) {
  switch (static_cast<int>(code)) {
    case code_device_busy:
      return ": another process uses the device exclusively; end that process, or allow several "
             "(nvidia-smi -c DEFAULT)";
    case code_no_device:
      return no_device_advice;
    case code_system_not_ready:
      return ": the links between the devices are not ready; start NVIDIA's fabric manager "
             "(systemctl start nvidia-fabricmanager) and try again";
    case code_no_forward_compatibility:
      return ": the driver library of CUDA's compatibility package (cuda-compat) does not support this device; remove "
             "it "
             "from the library path, or update the driver";
    default:
      return "";
  }
}

}  // namespace

Api load_api(const Host& host) {
  const plugin::Library library = open_driver(host);
  if (library.handle == nullptr) {
    throw Failure(
        VECTIS_BACKEND_CREATION,
        std::string("the ") + driver_title + " driver " + library.name + " cannot be opened: " + library.error,
        VECTIS_REASON_NO_LIBRARY);
  }
  Api api;
  const auto need = [&](const char* symbol, auto& target) {
    if (host.find_symbol(library, symbol, target)) return;
    throw Failure(VECTIS_BACKEND_CREATION,
                  library.name + " has no " + symbol + ": it is older than " + backend_requirement,
                  VECTIS_REASON_DRIVER_TOO_OLD);
  };
#define VECTIS_DRIVER_NEED(member, function, symbol) need(symbol, api.member);
#define VECTIS_DRIVER_TRY(member, function, symbol) host.find_symbol(library, symbol, api.member);
  VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_NEED)
  VECTIS_DRIVER_OPTIONAL_FUNCTIONS(VECTIS_DRIVER_TRY)
#undef VECTIS_DRIVER_TRY
#undef VECTIS_DRIVER_NEED
  return api;
}

std::string load_compiler(const Host& host, const char* library_name, CompilerApi& compiler) {
  const plugin::Library library = host.open_library(library_name);
  if (library.handle == nullptr) return library.name + " cannot be opened: " + library.error;
  std::string missing;
  const auto find = [&](const char* symbol, auto& target) {
    if (!host.find_symbol(library, symbol, target)) missing = symbol;
  };
#define VECTIS_COMPILER_FIND(member, type, symbol) find(symbol, compiler.member);
  VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_FIND)
#undef VECTIS_COMPILER_FIND
  return missing.empty() ? "" : library.name + " has no " + missing;
}

std::vector<std::string> library_files(const std::string& name, const LibraryPlaces& places) {
  std::vector<std::string> files = {name};
  for (const std::string& folder : places.folders) {
    std::string file = folder + "/" + name;
    std::error_code missing;
    if (std::filesystem::exists(file, missing)) files.push_back(std::move(file));
  }
  return files;
}

std::string describe(const Api& api, Code code) {
  const char* name = code_name(api, code);
  const std::string number = std::to_string(static_cast<int>(code));
  return (name == nullptr ? "error " + number : std::string(name) + " (" + number + ")") + advice_of(code);
}

VectisStatus status_of(Code code) noexcept {
  switch (static_cast<int>(code)) {
    case 2:  // out of memory
      return VECTIS_ALLOCATION;
    case 214:  // uncorrectable memory error
    case 219:  // NVLink error
    case 700:  // illegal address
    case 702:  // launch timed out
    case 709:  // the context is destroyed
    case 710:  // assertion in a kernel
    case 714:  // stack error of the hardware
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failed
      return VECTIS_DEVICE_LOST;
    case 200:  // invalid image
    case 209:  // no binary for this device
    case 218:  // invalid PTX
    case 222:  // PTX newer than the driver
    case 500:  // no function of that name
    case 701:  // the kernel needs more registers or shared memory than the device has for a block of this size
      return VECTIS_INVALID_INPUT;
    case 801:  // not supported
      return VECTIS_UNSUPPORTED;
    default:
      return VECTIS_DRIVER_FAILURE;
  }
}

Failure failed_call(const Api& api, const std::string& call, Code code) {
  return failed_call(api, call, code, status_of(code));
}

Failure failed_call(const Api& api, const std::string& call, Code code, VectisStatus status) {
  return {status, call + " failed with " + describe(api, code)};
}

}  // namespace vectis::cuda_hip
