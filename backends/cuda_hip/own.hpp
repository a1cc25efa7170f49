// What CUDA and HIP do differently: declared here, defined in backends/cuda/own.cpp and backends/hip/own.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

// The driver's name for a code, or null.
const char* code_name(const Api& api, Code code) noexcept;

// "CUDA 12.4" for the number a driver states.
std::string version_text(int version);
// The first version that works.
extern const int least_version;

// The context all users of a device in this process share. Each retain needs a release.
ContextHandle retain_context(const Api& api, DeviceId device);
void release_context(const Api& api, DeviceId device) noexcept;
// Whether somebody in this process holds it: to ask for free memory is not worth making one.
bool has_context(const Api& api, DeviceId device);

// Makes a context current on this thread and gives back, in the end, what was current before. Most functions of the
// driver need it, and a program that uses the driver itself must not notice.
class Current {
 public:
  Current(const Api& api, ContextHandle context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Api& api_;
  ContextHandle before_{};
};

// What kernels may use on a device of a compute capability, as VECTIS_CAN_*.
std::uint64_t capabilities(int major, int minor);

// Which of the compiler's targets suits a device. `options` go to the compiler, `obstacle` says why there is none.
struct Target {
  std::vector<std::string> options;
  bool machine_code = true;  // otherwise the driver compiles further
  std::optional<std::string> obstacle;
};
Target choose_target(const CompilerApi& compiler, int major, int minor);
// Why a compiler of that version does not serve a driver of this one, or nothing.
std::optional<std::string> version_obstacle(int compiler_major, int compiler_minor, int driver_version);
// What was compiled; empty when the compiler does not give it.
std::string compiled_code(const CompilerApi& compiler, CompilerProgram program, bool machine_code);

// Built-in kernels that travel compiled in the plug-in, and run where there is no compiler.
// Whether a device of this compute capability takes them.
bool carries_kernels(int major, int minor);
// How many there are and for what, or why none, in one phrase for the doctor; empty: these plug-ins never carry any.
std::string carried_words();
// The module of a text that travels compiled. Nothing when it does not, or when the driver does not take it: then
// `refusal` says why. The device's context is current.
std::optional<ModuleHandle> load_carried(const Api& api, int major, int minor, std::string_view text,
                                         std::string_view options, std::string& refusal);

// The bytes of each parameter of a kernel; nothing where the driver cannot say.
std::optional<std::vector<std::size_t>> parameter_sizes(const Api& api, FunctionHandle function);

}  // namespace vectis::cuda_hip
