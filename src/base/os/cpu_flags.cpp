#include "base/os/cpu_flags.hpp"

#include <fmt/format.h>

#include <system_error>

namespace vectis::inline v0_1 {

namespace {

constexpr bool has_bit(std::uint64_t bits, unsigned index) noexcept { return ((bits >> index) & 1U) != 0; }

// Bits of XCR0.
constexpr std::uint64_t avx_state = 0b110;                   // SSE and AVX
constexpr std::uint64_t avx512_state = avx_state | 0xe0;     // and mask registers, upper halves, upper registers
constexpr std::uint64_t amx_state = std::uint64_t{3} << 17;  // tile configuration and tile data

constexpr bool saves(const X86Numbers& numbers, std::uint64_t state) noexcept {
  return (numbers.xcr0 & state) == state;
}

bool has_avx512(const X86Numbers& numbers) noexcept {
  constexpr unsigned f = 16;
  constexpr unsigned dq = 17;
  constexpr unsigned cd = 28;
  constexpr unsigned bw = 30;
  constexpr unsigned vl = 31;
  for (const unsigned bit : {f, dq, cd, bw, vl}) {
    if (!has_bit(numbers.leaf7_ebx, bit)) return false;
  }
  return saves(numbers, avx512_state);
}

// Empty when AMX may be used.
std::string find_amx_reason(const X86Numbers& numbers, const std::function<int()>& ask_for_amx) {
  constexpr unsigned amx_tile = 24;
  if (!has_bit(numbers.leaf7_edx, amx_tile)) return "this processor has no AMX";
  if (!saves(numbers, amx_state)) return "the operating system does not save AMX tiles";
  const int error = ask_for_amx();
  if (error == 0) return {};
  return fmt::format("the kernel refused AMX tile data: {}", std::generic_category().message(error));
}

}  // namespace

void set_x86_flags(CpuInfo& info, const X86Numbers& numbers, const std::function<int()>& ask_for_amx) {
  constexpr unsigned avx = 28;
  info.avx2 = has_bit(numbers.leaf1_ecx, avx) && has_bit(numbers.leaf7_ebx, 5) && saves(numbers, avx_state);
  info.avx512 = info.avx2 && has_avx512(numbers);
  info.avx512_vnni = info.avx512 && has_bit(numbers.leaf7_ecx, 11);
  info.avx512_bf16 = info.avx512 && has_bit(numbers.leaf7_1_eax, 5);
  info.avx512_fp16 = info.avx512 && has_bit(numbers.leaf7_edx, 23);
  info.amx_reason = find_amx_reason(numbers, ask_for_amx);
  info.amx_bf16 = info.amx_reason.empty() && has_bit(numbers.leaf7_edx, 22);
  info.amx_int8 = info.amx_reason.empty() && has_bit(numbers.leaf7_edx, 25);
}

std::string_view x86_vendor(std::string_view vendor) noexcept {
  if (vendor == "GenuineIntel") return "Intel";
  if (vendor == "AuthenticAMD") return "AMD";
  return vendor;
}

}  // namespace vectis::inline v0_1
