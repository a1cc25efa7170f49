#include "status.hpp"

#include "own.hpp"

namespace vectis::cuda_hip {

std::string describe(const Api& api, Code code) {
  const char* name = code_name(api, code);
  if (name == nullptr) return "error " + std::to_string(static_cast<int>(code));
  return std::string(name) + " (" + std::to_string(static_cast<int>(code)) + ")";
}

VectisStatus status_of(Code code) noexcept {
  switch (static_cast<int>(code)) {
    case 2:  // out of memory
      return VECTIS_ALLOCATION;
    case 46:   // device unavailable
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
    case 701:  // the kernel needs more registers or shared memory than the device has for such a group
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
