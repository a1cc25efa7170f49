// Decodes the feature registers of an x86 CPU; a test can pass any values.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1 {

// The feature registers of an x86 CPU, by leaf and sub-leaf of CPUID; zero where the CPU has no such leaf.
struct X86Registers {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t xcr0 = 0;  // register state that the operating system saves; zero without OSXSAVE
};

// Fills the instruction-set flags and `amx_reason` of `info` from `registers`. `request_amx` must request the
// kernel's permission to use AMX tile data and return 0 or an errno; it is called only when CPU and operating system
// support AMX. A refusal leaves the AMX flags false, with the reason in `amx_reason`.
void set_x86_flags(CpuInfo& info, const X86Registers& registers, const std::function<int()>& request_amx);

// Returns the common name of a CPUID vendor: "Intel" for "GenuineIntel", "AMD" for "AuthenticAMD". Returns another
// `vendor` unchanged, so `vendor` must outlive the result. Does not throw.
std::string_view x86_vendor(std::string_view vendor) noexcept;

}  // namespace vectis::inline v0_1
