// The functions of the driver and of its run-time compiler, found at run time, and what the driver's error codes mean.
#pragma once

#include <string>

#include "backends/plugin/failure.hpp"
#include "backends/plugin/host.hpp"
#include "driver.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

using plugin::Failure;
using plugin::Host;

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses): the names are the driver's
struct Api {
#define VECTIS_DRIVER_MEMBER(member, function, symbol) decltype(&::function) member = nullptr;
  VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_MEMBER)
  VECTIS_DRIVER_OPTIONAL_FUNCTIONS(VECTIS_DRIVER_MEMBER)
#undef VECTIS_DRIVER_MEMBER
};

struct CompilerApi {
#define VECTIS_COMPILER_MEMBER(member, type, symbol) \
  using member##Function = type;                     \
  member##Function member = nullptr;
  VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_MEMBER)
#undef VECTIS_COMPILER_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// The symbol of each member, for messages: a failed MemAlloc is reported as cuMemAlloc_v2.
#define VECTIS_DRIVER_SYMBOL(member, function, symbol) inline constexpr const char* symbol_of_##member = symbol;
VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_SYMBOL)
#undef VECTIS_DRIVER_SYMBOL
#define VECTIS_COMPILER_SYMBOL(member, type, symbol) inline constexpr const char* compiler_symbol_of_##member = symbol;
VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_SYMBOL)
#undef VECTIS_COMPILER_SYMBOL

// Opens the library that the setting `driver` names, or the first of driver_libraries that can be opened. Throws
// Failure with the reason NO_LIBRARY when none can and DRIVER_TOO_OLD when it lacks a function.
Api load_api(const Host& host);

// Opens a compiler's library and fills `compiler`. Returns why it cannot be used, or an empty string.
std::string load_compiler(const Host& host, const char* library_name, CompilerApi& compiler);

// Error codes by name. CUDA and HIP use the same numbers.
inline constexpr int code_stub_library = 34;
inline constexpr int code_no_device = 100;
inline constexpr int code_invalid_device = 101;  // HIP's code when AMD's kernel driver finds no device
inline constexpr int code_peer_unsupported = 217;
inline constexpr int code_not_ready = 600;
inline constexpr int code_peer_enabled_already = 704;
inline constexpr int code_too_many_peers = 711;
inline constexpr int code_driver_mismatch = 803;
inline constexpr int code_unknown = 999;

// "CUDA_ERROR_OUT_OF_MEMORY (2)"; a code without a name is "error 12345".
std::string describe(const Api& api, Code code);
// The status of a code that has one meaning whichever call returns it; DRIVER_FAILURE for all others. The failure of a
// kernel destroys the whole context on these devices: DEVICE_LOST.
VectisStatus status_of(Code code) noexcept;

// "<call> failed with <code>", as a Failure to throw.
Failure failed_call(const Api& api, const std::string& call, Code code);
Failure failed_call(const Api& api, const std::string& call, Code code, VectisStatus status);

// Throws failed_call unless the code is 0.
inline void check(const Api& api, Code code, const char* call) {
  if (static_cast<int>(code) != 0) throw failed_call(api, call, code);
}

// Calls a function of the driver and throws failed_call with the function's name when it fails.
#define VECTIS_CALL(api, member, ...) \
  ::vectis::cuda_hip::check(api, (api).member(__VA_ARGS__), ::vectis::cuda_hip::symbol_of_##member)

}  // namespace vectis::cuda_hip
