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

// Returns the driver's name of a code, "CUDA_ERROR_OUT_OF_MEMORY", or null when the driver has none. The text is
// static. Does not throw. Precondition: `api` is loaded.
const char* code_name(const Api& api, Code code) noexcept;

// Returns the version that a driver states as an integer as text: "CUDA 12.4" for 12040, "HIP 5.0" for 50000000.
std::string version_text(int version);

// The oldest supported driver version, as the driver states it: 11020 (CUDA 11.2) or 50000000 (HIP 5.0).
extern const int version_min;

// Returns the device's primary context, which all its users in this process share, and creates it at first use. Each
// retain needs one release_context(). Throws Failure with the status of the driver's code when the driver cannot
// create it; never for HIP, which has no contexts.
ContextHandle retain_context(const Api& api, DeviceId device);

// Gives back one retain of the device's primary context; the last one destroys it. Precondition: retain_context() was
// called for it. Ignores a failure of the driver. Does nothing for HIP.
void release_context(const Api& api, DeviceId device) noexcept;

// Returns whether the device's primary context exists, without creating it; always true for HIP. Throws Failure with
// the status of the driver's code when the query fails.
bool has_context(const Api& api, DeviceId device);

// Makes a context current on this thread and restores the previous one on destruction: most functions of the driver
// need a current context, and a program that uses the driver itself must not notice the change. Create and destroy it
// on one thread, nested.
class CurrentContext {
 public:
  // Makes `context`, which must be retained, current. Throws Failure with the status of the driver's code when the
  // driver rejects it.
  CurrentContext(const Api& api, ContextHandle context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Api& api_;
  ContextHandle previous_{};
};

// Returns the VECTIS_CAN_* bits of a device with this compute capability, which HIP ignores, and `architecture`, a
// result of architecture_name(), which CUDA ignores. Does not throw.
std::uint64_t capabilities(int major, int minor, std::string_view architecture);

// Returns the name of the device's architecture as its compiler takes it: "sm_90" for a compute capability of 9.0,
// "gfx90a:sramecc+:xnack-" for HIP, which ignores the compute capability. Returns an empty text when HIP does not
// report it. Throws Failure with the status of the driver's code when the query fails.
std::string architecture_name(const Api& api, DeviceId device, int major, int minor);

// Returns the id of a slice of a device, "mig-" and its UUID, when the driver lists a slice (MIG) as a device;
// otherwise, and always for HIP, an empty text. Throws Failure with the status of the driver's code when the query
// fails.
std::string slice_id(const Api& api, DeviceId device);

// How kernels are compiled for one device, or in `obstacle` the reason why they cannot be.
struct CompileTarget {
  std::vector<std::string> options;     // of the compiler
  bool machine_code = true;             // false: PTX, which the driver compiles further
  std::optional<std::string> obstacle;  // why the compiler has no target for the device
};

// Returns how to compile for a device of this compute capability and `architecture`, a result of architecture_name().
// CUDA: machine code when the compiler supports it, PTX for a newer device, an obstacle for an older one. HIP: machine
// code for `architecture`, an obstacle when it is not the name of one. Precondition: `compiler` is loaded. Throws
// Failure with VECTIS_DRIVER_FAILURE when the compiler does not list its architectures.
CompileTarget choose_target(const CompilerApi& compiler, int major, int minor, const std::string& architecture);

// Returns why the driver does not run the code of the compiler in the file `library`, which states this version, or
// nothing when it does. CUDA rejects a newer major version than the driver's, HIP every other one.
std::optional<std::string> version_obstacle(const std::string& library, int compiler_major, int compiler_minor,
                                            int driver_version);

// Returns the file names of the run-time compiler for a driver of this version, best first. CUDA: NVRTC of the driver's
// major version, of older ones, one without a version in its name, and last the newer ones, which the driver does not
// run but a message can name.
std::vector<std::string> compiler_libraries(int driver_version);

// Returns what a user does to get the compiler for a driver of this version: which package to install, or which setting
// names the library.
std::string compiler_advice(int driver_version);

// Where the vendor's libraries are searched for besides the path of the system's loader.
struct LibraryPlaces {
  std::vector<std::string> folders;  // that exist
  std::string description;           // of all, those that do not exist too, for messages; empty: none
};

// Returns the places of CUDA's libraries: wheels of NVIDIA in the active Python environment (VIRTUAL_ENV), in the one
// that contains this plug-in and in the one of the running program; CUDA_PATH and CUDA_HOME; /usr/local/cuda*. Returns
// none for HIP, whose libraries the loader finds beside the driver. Does not throw Failure.
LibraryPlaces library_places();

// Returns `name`, which the system's loader searches for, and then the file of this name in each of the folders that
// has one.
std::vector<std::string> library_files(const std::string& name, const LibraryPlaces& places);

// Returns the machine code of a compiled program, or its PTX when `machine_code` is false (CUDA only). Precondition:
// the program was compiled for that. Throws Failure with VECTIS_DRIVER_FAILURE when the compiler does not give it.
std::string compiled_code(const CompilerApi& compiler, CompilerProgram program, bool machine_code);

// Returns whether the plug-in embeds compiled built-in kernels that a device of this compute capability runs without
// a run-time compiler; always false for HIP. Does not throw.
bool has_embedded_kernels(int major, int minor);

// Returns one phrase for the doctor: how many kernels are embedded and for which devices, or why there are none.
// Returns an empty text for HIP, which never embeds any.
std::string describe_embedded_kernels();

// A loaded module of an embedded kernel and the kernel's PTX, which is static.
struct EmbeddedModule {
  ModuleHandle module{};
  const char* ptx = nullptr;
};

// Loads the embedded kernel of a source text and these options. Returns nothing when there is none, or when the
// driver rejects it, and then sets `rejection` to the reason. Precondition: the device's context is current. Throws
// Failure with the status of the driver's code when loading fails otherwise.
std::optional<EmbeddedModule> load_embedded(const Api& api, int major, int minor, std::string_view text,
                                            std::string_view options, std::string& rejection);

// Returns the machine code that the driver compiles of PTX for the device of the current context. Throws Failure with
// the status of the driver's code when that fails. Not for HIP, which embeds no kernels.
std::string machine_code_of(const Api& api, const char* ptx);

// Returns the bytes of each parameter of a kernel, or nothing when the driver does not report them (CUDA before 12.4,
// HIP). Precondition: the function's module is loaded. Throws Failure with the status of the driver's code when the
// query fails.
std::optional<std::vector<std::size_t>> parameter_sizes(const Api& api, FunctionHandle function);

}  // namespace vectis::cuda_hip
