// libnvrtc.so: the functions of NVRTC that the plug-in calls.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "control.hpp"
#include "programs.hpp"

struct _nvrtcProgram;  // NVRTC's own name for it

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

constexpr std::array architectures = {75, 80, 86, 89, 90, 100, 120};
constexpr const char* target_option = "--gpu-architecture=";

// The architecture the options name. One that the compiler does not know is refused.
int choose_target(Program& one, const std::vector<std::string>& options) {
  int number = architectures.front();
  for (const std::string& option : options) {
    if (!option.starts_with(target_option)) continue;
    one.machine_code = option.find("=sm_") != std::string::npos;
    number = std::atoi(option.substr(option.find('_') + 1).c_str());
  }
  if (std::find(architectures.begin(), architectures.end(), number) != architectures.end()) return number;
  one.log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
  throw Refusal{compiler_invalid_option};
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT int nvrtcVersion(int* major, int* minor) {
  return entered("nvrtcVersion", [&] {
    *major = static_cast<int>(Control::get().setting("nvrtc", 13));
    *minor = 0;
  });
}

VTD_EXPORT const char* nvrtcGetErrorString(int code) { return compiler_code_text(code); }

VTD_EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  return entered("nvrtcGetNumSupportedArchs", [&] { *count = static_cast<int>(architectures.size()); });
}

VTD_EXPORT int nvrtcGetSupportedArchs(int* target) {
  return entered("nvrtcGetSupportedArchs", [&] { std::copy(architectures.begin(), architectures.end(), target); });
}

VTD_EXPORT int nvrtcCreateProgram(_nvrtcProgram** handle, const char* text, const char*, int headers,
                                  const char* const*, const char* const*) {
  return entered("nvrtcCreateProgram",
                 [&] { *handle = static_cast<_nvrtcProgram*>(const_cast<void*>(create_program(text, headers))); });
}

VTD_EXPORT int nvrtcDestroyProgram(_nvrtcProgram** handle) {
  return entered("nvrtcDestroyProgram", [&] { destroy_program(*handle); }, true);
}

VTD_EXPORT int nvrtcCompileProgram(_nvrtcProgram* handle, int count, const char* const* options) {
  return entered("nvrtcCompileProgram", [&] {
    Program& one = program(handle);
    const std::vector<std::string> words(options, options + count);
    const int target = choose_target(one, words);
    compile_program(one, words, {target_option, "--std=", "--fmad=", "--ftz=", "--prec-div=", "--prec-sqrt="},
                    {"__CUDACC_RTC__", "__CUDA_ARCH__=" + std::to_string(10 * target)},
                    one.machine_code ? "cubin" : "ptx", target);
  });
}

VTD_EXPORT int nvrtcGetProgramLogSize(_nvrtcProgram* handle, std::size_t* bytes) {
  return entered("nvrtcGetProgramLogSize", [&] { *bytes = program(handle).log.size() + 1; });
}

VTD_EXPORT int nvrtcGetProgramLog(_nvrtcProgram* handle, char* target) {
  return entered("nvrtcGetProgramLog", [&] { give_text(program(handle).log, target); });
}

VTD_EXPORT int nvrtcGetCUBINSize(_nvrtcProgram* handle, std::size_t* bytes) {
  return entered("nvrtcGetCUBINSize",
                 [&] { *bytes = program(handle).machine_code ? program(handle).image.size() + 1 : 0; });
}

VTD_EXPORT int nvrtcGetCUBIN(_nvrtcProgram* handle, char* target) {
  return entered("nvrtcGetCUBIN", [&] {
    if (!program(handle).machine_code) refuse(compiler_invalid_program, "machine code of a program compiled to PTX");
    give_text(program(handle).image, target);
  });
}

VTD_EXPORT int nvrtcGetPTXSize(_nvrtcProgram* handle, std::size_t* bytes) {
  return entered("nvrtcGetPTXSize", [&] { *bytes = program(handle).image.size() + 1; });
}

VTD_EXPORT int nvrtcGetPTX(_nvrtcProgram* handle, char* target) {
  return entered("nvrtcGetPTX", [&] { give_text(program(handle).image, target); });
}
