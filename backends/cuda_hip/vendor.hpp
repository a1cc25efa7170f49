// What CUDA and HIP do differently, defined in backends/cuda/vendor.cpp and backends/hip/vendor.cpp.
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

// "CUDA 12.4" for the integer that a driver states as its version.
std::string version_text(int version);
// The oldest driver version that is supported.
extern const int version_min;

// The device's primary context, which all its users in this process share. Each retain needs a release.
ContextHandle retain_context(const Api& api, DeviceId device);
void release_context(const Api& api, DeviceId device) noexcept;
// Whether the primary context exists. A query of free memory does not create one.
bool has_context(const Api& api, DeviceId device);

// Makes a context current on this thread and restores the previous one on destruction. Most functions of the driver
// need a current context, and a program that uses the driver itself must not notice the change. Throws Failure.
class CurrentContext {
 public:
  CurrentContext(const Api& api, ContextHandle context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Api& api_;
  ContextHandle previous_{};
};

// VECTIS_CAN_* of a device with this compute capability.
std::uint64_t capabilities(int major, int minor);

// How to compile for a device.
struct CompileTarget {
  std::vector<std::string> options;     // of the compiler
  bool machine_code = true;             // false: PTX, which the driver compiles further
  std::optional<std::string> obstacle;  // why the compiler has no target for the device
};
CompileTarget choose_target(const CompilerApi& compiler, int major, int minor);
// Why the code of this compiler does not run on this driver, or nothing.
std::optional<std::string> version_obstacle(int compiler_major, int compiler_minor, int driver_version);
// The machine code or PTX of a compiled program. Throws Failure.
std::string compiled_code(const CompilerApi& compiler, CompilerProgram program, bool machine_code);

// Embedded kernels: built-in kernels that the plug-in holds compiled, for devices without a run-time compiler.
// Whether a device of this compute capability runs them.
bool has_embedded_kernels(int major, int minor);
// How many kernels are embedded and for which devices, or why none, as one phrase for the doctor; empty: this plug-in
// never embeds any.
std::string describe_embedded_kernels();
// Loads the embedded kernel of a source text. Nothing when there is none, or when the driver rejects it; then
// `rejection` says why. Precondition: the device's context is current. Throws Failure when loading fails otherwise.
std::optional<ModuleHandle> load_embedded(const Api& api, int major, int minor, std::string_view text,
                                          std::string_view options, std::string& rejection);

// The bytes of each parameter of a kernel; nothing when the driver is too old to report them. Throws Failure.
std::optional<std::vector<std::size_t>> parameter_sizes(const Api& api, FunctionHandle function);

}  // namespace vectis::cuda_hip
