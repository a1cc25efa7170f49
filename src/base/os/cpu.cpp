#include "vectis/base/cpu.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/os/cpu_flags.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vectis::inline v0_1 {

namespace {

constexpr bool has_bit(std::uint64_t bits, unsigned index) noexcept { return ((bits >> index) & 1U) != 0; }

// Bits of XCR0.
constexpr std::uint64_t avx_state = 0b110;                   // SSE and AVX
constexpr std::uint64_t avx512_state = avx_state | 0xe0;     // and mask registers, upper halves, upper registers
constexpr std::uint64_t amx_state = std::uint64_t{3} << 17;  // tile configuration and tile data

constexpr bool saves(const X86Registers& registers, std::uint64_t state) noexcept {
  return (registers.xcr0 & state) == state;
}

bool has_avx512(const X86Registers& registers) noexcept {
  constexpr unsigned f = 16;
  constexpr unsigned dq = 17;
  constexpr unsigned cd = 28;
  constexpr unsigned bw = 30;
  constexpr unsigned vl = 31;
  for (const unsigned bit : {f, dq, cd, bw, vl}) {
    if (!has_bit(registers.leaf7_ebx, bit)) return false;
  }
  return saves(registers, avx512_state);
}

// Empty when AMX may be used.
std::string find_amx_reason(const X86Registers& registers, const std::function<int()>& request_amx) {
  constexpr unsigned amx_tile = 24;
  if (!has_bit(registers.leaf7_edx, amx_tile)) return "the CPU has no AMX";
  if (!saves(registers, amx_state)) return "the operating system does not save AMX tiles";
  const int error = request_amx();
  if (error == 0) return {};
  return fmt::format("the kernel refused AMX tile data: {}", std::generic_category().message(error));
}

// Cores this process may run on.
std::uint32_t count_cores() {
  constexpr std::size_t cores_max = 8192;
  const std::size_t bytes = CPU_ALLOC_SIZE(cores_max);
  const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
  const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(cores_max), free_set);
  if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(CPU_COUNT_S(bytes, set.get()), 1));
}

#if defined(__x86_64__)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros when the CPU has no such leaf.
Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

std::uint64_t read_xcr0() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

X86Registers read_x86_registers() {
  constexpr std::uint32_t osxsave = 1U << 27;
  X86Registers registers;
  registers.leaf1_ecx = cpuid(1, 0).ecx;
  const Registers leaf7 = cpuid(7, 0);
  registers.leaf7_ebx = leaf7.ebx;
  registers.leaf7_ecx = leaf7.ecx;
  registers.leaf7_edx = leaf7.edx;
  if (leaf7.eax >= 1) registers.leaf7_1_eax = cpuid(7, 1).eax;
  if ((registers.leaf1_ecx & osxsave) != 0) registers.xcr0 = read_xcr0();
  return registers;
}

// Appends four registers as the sixteen characters they hold.
void append_text(std::string& text, const Registers& registers) {
  std::array<char, sizeof(registers)> characters{};
  std::memcpy(characters.data(), &registers, sizeof(registers));
  text.append(characters.data(), characters.size());
}

std::string read_brand() {
  std::string brand;
  for (std::uint32_t leaf = 0x80000002U; leaf <= 0x80000004U; ++leaf) append_text(brand, cpuid(leaf, 0));
  brand.resize(std::strlen(brand.c_str()));
  const std::size_t begin = brand.find_first_not_of(' ');
  const std::size_t end = brand.find_last_not_of(' ');
  return begin == std::string::npos ? "x86-64 processor" : brand.substr(begin, end - begin + 1);
}

std::string read_vendor() {
  const Registers leaf0 = cpuid(0, 0);
  std::string vendor;
  append_text(vendor, {leaf0.ebx, leaf0.edx, leaf0.ecx, 0});
  return vendor.c_str();
}

int request_amx() {
  constexpr int request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int tile_data = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? 0 : errno;
}

CpuInfo read_cpu_info() {
  CpuInfo info;
  info.name = read_brand();
  info.vendor = x86_vendor(read_vendor());
  info.cores = count_cores();
  set_x86_flags(info, read_x86_registers(), request_amx);
  return info;
}

#else

CpuInfo read_cpu_info() {
  CpuInfo info;
  utsname system{};
  info.name = uname(&system) == 0 ? std::string(system.machine) + " processor" : "processor";
  info.cores = count_cores();
  info.amx_reason = "the CPU has no AMX";
  return info;
}

#endif

}  // namespace

void set_x86_flags(CpuInfo& info, const X86Registers& registers, const std::function<int()>& request_amx) {
  constexpr unsigned avx = 28;
  info.avx2 = has_bit(registers.leaf1_ecx, avx) && has_bit(registers.leaf7_ebx, 5) && saves(registers, avx_state);
  info.avx512 = info.avx2 && has_avx512(registers);
  info.avx512_vnni = info.avx512 && has_bit(registers.leaf7_ecx, 11);
  info.avx512_bf16 = info.avx512 && has_bit(registers.leaf7_1_eax, 5);
  info.avx512_fp16 = info.avx512 && has_bit(registers.leaf7_edx, 23);
  info.amx_reason = find_amx_reason(registers, request_amx);
  info.amx_bf16 = info.amx_reason.empty() && has_bit(registers.leaf7_edx, 22);
  info.amx_int8 = info.amx_reason.empty() && has_bit(registers.leaf7_edx, 25);
}

std::string_view x86_vendor(std::string_view vendor) noexcept {
  if (vendor == "GenuineIntel") return "Intel";
  if (vendor == "AuthenticAMD") return "AMD";
  return vendor;
}

const CpuInfo& cpu_info() {
  static const auto* const info =
      new CpuInfo(read_cpu_info());  // never destroyed: backends use it until the process ends
  return *info;
}

}  // namespace vectis::inline v0_1
