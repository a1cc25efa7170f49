// What codes of the driver mean as failures.
#pragma once

#include <string>
#include <utility>

#include "api.hpp"
#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

using plugin::Failure;
using plugin::tell;

// Codes the sources name. CUDA and HIP number theirs alike.
inline constexpr int code_invalid_value = 1;
inline constexpr int code_stub_library = 34;
inline constexpr int code_no_device = 100;
inline constexpr int code_invalid_device = 101;  // what HIP says where AMD's kernel driver finds nothing
inline constexpr int code_peer_unsupported = 217;
inline constexpr int code_not_ready = 600;
inline constexpr int code_peer_enabled_already = 704;
inline constexpr int code_too_many_peers = 711;
inline constexpr int code_driver_mismatch = 803;
inline constexpr int code_unknown = 999;

// "CUDA_ERROR_OUT_OF_MEMORY (2)"; a code without a name is "error 12345".
std::string describe(const Api& api, Code code);
// What a code means wherever it has one meaning; everything else is DRIVER_FAILURE. A failure of a kernel ends the
// whole context on these devices: DEVICE_LOST.
VectisStatus status_of(Code code) noexcept;

// "<call> failed with <code>", as a Failure to throw.
Failure failed_call(const Api& api, const std::string& call, Code code);
Failure failed_call(const Api& api, const std::string& call, Code code, VectisStatus status);

inline void check(const Api& api, Code code, const char* call) {
  if (static_cast<int>(code) != 0) throw failed_call(api, call, code);
}

// Calls a function of the driver and throws when it fails, by the function's own name.
#define VECTIS_CALL(api, member, ...) \
  ::vectis::cuda_hip::check(api, (api).member(__VA_ARGS__), ::vectis::cuda_hip::symbol_of_##member)

// Runs the body of a slot; whatever it throws becomes its status and message.
template <class Body>
VectisStatus guarded(VectisMessage* message, Body&& body) noexcept {
  return plugin::guarded("the backend", message, std::forward<Body>(body));
}

}  // namespace vectis::cuda_hip
