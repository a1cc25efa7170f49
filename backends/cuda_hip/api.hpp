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
// The driver's functions. After load_api() only the optional ones may be null. Immutable, so thread-safe.
struct Api {
#define VECTIS_DRIVER_MEMBER(member, function, symbol) decltype(&::function) member = nullptr;
  VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_MEMBER)
  VECTIS_DRIVER_OPTIONAL_FUNCTIONS(VECTIS_DRIVER_MEMBER)
#undef VECTIS_DRIVER_MEMBER
};

// The functions of the run-time compiler. Call them only after load_compiler() has returned an empty text.
struct CompilerApi {
#define VECTIS_COMPILER_MEMBER(member, type, symbol) \
  using member##Function = type;                     \
  member##Function member = nullptr;
  VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_MEMBER)
#undef VECTIS_COMPILER_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// Defines symbol_of_<member>, the driver's name of a function, for messages: a failed MemAlloc is reported as
// cuMemAlloc_v2.
#define VECTIS_DRIVER_SYMBOL(member, function, symbol) inline constexpr const char* symbol_of_##member = symbol;
VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_SYMBOL)
#undef VECTIS_DRIVER_SYMBOL
#define VECTIS_COMPILER_SYMBOL(member, type, symbol) inline constexpr const char* compiler_symbol_of_##member = symbol;
VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_SYMBOL)
#undef VECTIS_COMPILER_SYMBOL

// Opens the library that the setting `driver` names, or the first of driver_libraries that can be opened, and returns
// its functions. Throws Failure with VECTIS_BACKEND_CREATION: reason NO_LIBRARY when none can be opened,
// DRIVER_TOO_OLD when it lacks a function that is not optional.
Api load_api(const Host& host);

// Opens the compiler's library `library_name` and sets the functions in `compiler`. Returns an empty text, or why the
// library cannot be used: it cannot be opened, or lacks a function. Does not throw Failure.
std::string load_compiler(const Host& host, const char* library_name, CompilerApi& compiler);

// The driver's error codes that this backend treats by name. CUDA and HIP use the same integers.
inline constexpr int code_stub_library = 34;
inline constexpr int code_device_busy = 46;
inline constexpr int code_no_device = 100;
inline constexpr int code_invalid_device = 101;  // HIP's code when AMD's kernel driver finds no device
inline constexpr int code_peer_unsupported = 217;
inline constexpr int code_not_ready = 600;
inline constexpr int code_peer_enabled_already = 704;
inline constexpr int code_too_many_peers = 711;
inline constexpr int code_system_not_ready = 802;
inline constexpr int code_driver_mismatch = 803;
inline constexpr int code_no_forward_compatibility = 804;
inline constexpr int code_unknown = 999;

// Returns name and number of a driver's code, "CUDA_ERROR_OUT_OF_MEMORY (2)"; "error 12345" for one without a name. For
// a code that says how the machine is set up, what to do about it follows.
std::string describe(const Api& api, Code code);

// Returns the status of a driver's code that has one meaning whichever call returns it; VECTIS_DRIVER_FAILURE for all
// others. Codes of a failed kernel give VECTIS_DEVICE_LOST, because such a failure destroys the whole context. `code`
// must not be 0 (success). Does not throw.
VectisStatus status_of(Code code) noexcept;

// Returns, and does not throw, a Failure with the text "<call> failed with <code>" and the status of status_of(code).
// `code` must not be 0 (success).
Failure failed_call(const Api& api, const std::string& call, Code code);

// Returns, and does not throw, a Failure with the text "<call> failed with <code>" and the given `status`. `code`
// must not be 0 (success).
Failure failed_call(const Api& api, const std::string& call, Code code, VectisStatus status);

// Does nothing when `code` is 0; otherwise throws the Failure of failed_call(api, call, code). `call` names the
// function that returned the code.
inline void check(const Api& api, Code code, const char* call) {
  if (static_cast<int>(code) != 0) throw failed_call(api, call, code);
}

// Calls the driver's function `member` and throws failed_call with the function's symbol when it does not return 0.
// Precondition: the function is not optional, so that load_api() has found it.
#define VECTIS_CALL(api, member, ...) \
  ::vectis::cuda_hip::check(api, (api).member(__VA_ARGS__), ::vectis::cuda_hip::symbol_of_##member)

}  // namespace vectis::cuda_hip
