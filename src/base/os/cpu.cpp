#include "vectis/base/cpu.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/os/cpu_flags.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vectis::inline v0_1 {

namespace {

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

// Zeros when there is no such leaf.
Registers ask_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
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

X86Numbers ask_numbers() {
  constexpr std::uint32_t osxsave = 1U << 27;
  X86Numbers numbers;
  numbers.leaf1_ecx = ask_cpuid(1, 0).ecx;
  const Registers leaf7 = ask_cpuid(7, 0);
  numbers.leaf7_ebx = leaf7.ebx;
  numbers.leaf7_ecx = leaf7.ecx;
  numbers.leaf7_edx = leaf7.edx;
  if (leaf7.eax >= 1) numbers.leaf7_1_eax = ask_cpuid(7, 1).eax;
  if ((numbers.leaf1_ecx & osxsave) != 0) numbers.xcr0 = read_xcr0();
  return numbers;
}

// Appends four registers as the sixteen characters they hold.
void append_text(std::string& text, const Registers& registers) {
  std::array<char, sizeof(registers)> characters{};
  std::memcpy(characters.data(), &registers, sizeof(registers));
  text.append(characters.data(), characters.size());
}

std::string read_brand() {
  std::string brand;
  for (std::uint32_t leaf = 0x80000002U; leaf <= 0x80000004U; ++leaf) append_text(brand, ask_cpuid(leaf, 0));
  brand.resize(std::strlen(brand.c_str()));
  const std::size_t begin = brand.find_first_not_of(' ');
  const std::size_t end = brand.find_last_not_of(' ');
  return begin == std::string::npos ? "x86-64 processor" : brand.substr(begin, end - begin + 1);
}

std::string read_vendor() {
  const Registers leaf0 = ask_cpuid(0, 0);
  std::string vendor;
  append_text(vendor, {leaf0.ebx, leaf0.edx, leaf0.ecx, 0});
  return vendor.c_str();
}

int ask_for_amx() {
  constexpr int request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int tile_data = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? 0 : errno;
}

CpuInfo look_up() {
  CpuInfo info;
  info.name = read_brand();
  info.vendor = x86_vendor(read_vendor());
  info.cores = count_cores();
  set_x86_flags(info, ask_numbers(), ask_for_amx);
  return info;
}

#else

CpuInfo look_up() {
  CpuInfo info;
  utsname system{};
  info.name = uname(&system) == 0 ? std::string(system.machine) + " processor" : "processor";
  info.cores = count_cores();
  info.amx_reason = "this processor has no AMX";
  return info;
}

#endif

}  // namespace

const CpuInfo& cpu_info() {
  static const auto* const info = new CpuInfo(look_up());  // never destroyed: backends ask to the end
  return *info;
}

}  // namespace vectis::inline v0_1
