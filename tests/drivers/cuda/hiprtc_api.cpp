// hipRTC: the functions the plug-in calls.
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "driver.hpp"
#include "programs.hpp"

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

template <class Body>
hiprtcResult compiler_api(const char* function, Body&& body, bool releasing = false) {
  return static_cast<hiprtcResult>(entered(function, body, releasing));
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT hiprtcResult hiprtcVersion(int* major, int* minor) {
  return compiler_api("hiprtcVersion", [&] {
    *major = 5;
    *minor = 2;
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
    compile_program(program(handle), std::vector<std::string>(options, options + count),
                    {"-std=", "-ffp-contract=", "-fhip-fp32-correctly-rounded-divide-sqrt", "--offload-arch="},
                    {"__HIP__", "__HIPCC_RTC__"}, "hsaco", Driver::architecture());
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
