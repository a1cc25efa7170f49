// hipRTC: the functions the plug-in calls.
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "driver.hpp"
#include "hip_architecture.hpp"
#include "programs.hpp"

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

template <class Body>
hiprtcResult compiler_api(const char* function, Body&& body, bool releasing = false) {
  return static_cast<hiprtcResult>(entered(function, body, releasing));
}

// As the real one on a machine without ROCm's development package, where it cannot ask the driver.
void need_architecture(Program& one, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (!option.starts_with("--offload-arch=")) continue;
    if (option == "--offload-arch=" + hip_architecture()) return;
    one.log = "error: " + option + " is not the architecture of the device\n";
    throw Refusal{compiler_failed};
  }
  one.log = "Error: Please provide architecture for which code is to be generated.\n";
  throw Refusal{compiler_failed};
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT hiprtcResult hiprtcVersion(int* major, int* minor) {
  return compiler_api("hiprtcVersion", [&] {
    *major = static_cast<int>(Control::get().setting("hiprtc", 9));  // of ROCm 5 and 6, whatever their version
    *minor = 0;
  });
}

VTD_EXPORT const char* hiprtcGetErrorString(hiprtcResult code) { return compiler_code_text(static_cast<int>(code)); }

VTD_EXPORT hiprtcResult hiprtcCreateProgram(hiprtcProgram* handle, const char* text, const char*, int headers,
                                            const char**, const char**) {
  return compiler_api("hiprtcCreateProgram",
                      [&] { *handle = static_cast<hiprtcProgram>(const_cast<void*>(create_program(text, headers))); });
}

VTD_EXPORT hiprtcResult hiprtcDestroyProgram(hiprtcProgram* handle) {
  return compiler_api("hiprtcDestroyProgram", [&] { destroy_program(*handle); }, true);
}

VTD_EXPORT hiprtcResult hiprtcCompileProgram(hiprtcProgram handle, int count, const char** options) {
  return compiler_api("hiprtcCompileProgram", [&] {
    const std::vector<std::string> words(options, options + count);
    need_architecture(program(handle), words);
    compile_program(program(handle), words,
                    {"-std=", "-ffp-contract=", "-fhip-fp32-correctly-rounded-divide-sqrt", "--offload-arch="},
                    {"__HIP__", "__HIPCC_RTC__", hip_architecture_macro()}, "hsaco", Driver::architecture());
  });
}

VTD_EXPORT hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram handle, std::size_t* bytes) {
  return compiler_api("hiprtcGetProgramLogSize", [&] { *bytes = program(handle).log.size() + 1; });
}

VTD_EXPORT hiprtcResult hiprtcGetProgramLog(hiprtcProgram handle, char* target) {
  return compiler_api("hiprtcGetProgramLog", [&] { give_text(program(handle).log, target); });
}

VTD_EXPORT hiprtcResult hiprtcGetCodeSize(hiprtcProgram handle, std::size_t* bytes) {
  return compiler_api("hiprtcGetCodeSize", [&] { *bytes = program(handle).image.size() + 1; });
}

VTD_EXPORT hiprtcResult hiprtcGetCode(hiprtcProgram handle, char* target) {
  return compiler_api("hiprtcGetCode", [&] { give_text(program(handle).image, target); });
}
