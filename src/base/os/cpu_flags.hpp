// The meaning of the numbers an x86 processor gives, apart from asking for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1 {

// Registers of cpuid, by leaf and sub-leaf; zero where the processor has no such leaf.
struct X86Numbers {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t xcr0 = 0;  // which registers the operating system saves; zero without OSXSAVE
};

// Fills the flags. `ask_for_amx` asks the kernel for tile data and returns 0 or its errno; it is called only when
// everything else is there.
void set_x86_flags(CpuInfo& info, const X86Numbers& numbers, const std::function<int()>& ask_for_amx);

// "Intel" for "GenuineIntel"; an unknown vendor stays as it is.
std::string_view x86_vendor(std::string_view vendor) noexcept;

}  // namespace vectis::inline v0_1
