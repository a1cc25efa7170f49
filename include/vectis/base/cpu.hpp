// The features of the host's CPU.
#pragma once

#include <cstdint>
#include <string>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Name, cores and instruction sets of the host's CPU, as cpu_info() returns them. A flag is true only when the CPU
// has the instructions and the operating system saves their registers.
struct CpuInfo {
  std::string name;         // "Intel(R) Xeon(R) Processor"
  std::string vendor;       // "Intel"; empty when unknown
  std::uint32_t cores = 1;  // cores that this process may run on (CPU affinity)
  bool avx2 = false;
  bool avx512 = false;  // F, BW, CD, DQ and VL
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;
  std::string amx_reason;  // why the AMX flags are false; empty when one is true
};

// Returns the description of the host's CPU, valid until the process ends. The first call determines it and requests
// the kernel's permission to use AMX; a refusal only leaves the AMX flags false, with `amx_reason`. Thread-safe.
VECTIS_API const CpuInfo& cpu_info();

}  // namespace vectis::inline v0_1
