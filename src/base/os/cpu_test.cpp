#include "vectis/base/cpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/os/cpu_flags.hpp"
#include "vectis/base/os.hpp"

namespace vectis {
namespace {

// A CPU with all features and a kernel that permits all of them.
X86Registers everything() {
  return {.leaf1_ecx = ~0U, .leaf7_ebx = ~0U, .leaf7_ecx = ~0U, .leaf7_edx = ~0U, .leaf7_1_eax = ~0U, .xcr0 = ~0ULL};
}

CpuInfo flags_of(const X86Registers& numbers, int amx_error = 0) {
  CpuInfo info;
  set_x86_flags(info, numbers, [&] { return amx_error; });
  return info;
}

TEST(CpuFlags, EverythingIsThere) {
  const CpuInfo info = flags_of(everything());
  EXPECT_TRUE(info.avx2 && info.avx512 && info.avx512_vnni && info.avx512_bf16 && info.avx512_fp16);
  EXPECT_TRUE(info.amx_int8 && info.amx_bf16);
  EXPECT_EQ(info.amx_reason, "");
}

TEST(CpuFlags, NothingIsThere) {
  CpuInfo info;
  set_x86_flags(info, {}, []() -> int { throw std::logic_error("the kernel must not be asked"); });
  EXPECT_FALSE(info.avx2 || info.avx512 || info.avx512_vnni || info.avx512_bf16 || info.avx512_fp16);
  EXPECT_FALSE(info.amx_int8 || info.amx_bf16);
  EXPECT_EQ(info.amx_reason, "the CPU has no AMX");
}

TEST(CpuFlags, RegistersNotSavedByTheSystemAreNotUsed) {
  X86Registers numbers = everything();
  numbers.xcr0 = 0b111;  // SSE and AVX only
  CpuInfo info = flags_of(numbers);
  EXPECT_TRUE(info.avx2);
  EXPECT_FALSE(info.avx512 || info.avx512_vnni || info.avx512_bf16 || info.avx512_fp16);
  EXPECT_FALSE(info.amx_int8 || info.amx_bf16);
  EXPECT_EQ(info.amx_reason, "the operating system does not save AMX tiles");
  numbers.xcr0 = 0b011;
  EXPECT_FALSE(flags_of(numbers).avx2);
}

TEST(CpuFlags, EachFlagDependsOnItsBit) {
  const auto without = [](auto change) {
    X86Registers numbers = everything();
    change(numbers);
    return flags_of(numbers);
  };
  EXPECT_FALSE(without([](auto& n) { n.leaf7_ebx &= ~(1U << 5); }).avx2);
  for (const int bit : {16, 17, 28, 30, 31}) {
    const CpuInfo info = without([&](auto& n) { n.leaf7_ebx &= ~(1U << bit); });
    EXPECT_TRUE(info.avx2) << bit;
    EXPECT_FALSE(info.avx512 || info.avx512_vnni) << bit;
  }
  EXPECT_FALSE(without([](auto& n) { n.leaf7_ecx &= ~(1U << 11); }).avx512_vnni);
  EXPECT_FALSE(without([](auto& n) { n.leaf7_1_eax &= ~(1U << 5); }).avx512_bf16);
  EXPECT_FALSE(without([](auto& n) { n.leaf7_edx &= ~(1U << 23); }).avx512_fp16);
  EXPECT_FALSE(without([](auto& n) { n.leaf7_edx &= ~(1U << 22); }).amx_bf16);
  EXPECT_FALSE(without([](auto& n) { n.leaf7_edx &= ~(1U << 25); }).amx_int8);
}

TEST(CpuFlags, AmxReasonRecordsTheKernelsRefusal) {
  const CpuInfo info = flags_of(everything(), EPERM);
  EXPECT_FALSE(info.amx_int8 || info.amx_bf16);
  EXPECT_EQ(info.amx_reason, "the kernel refused AMX tile data: Operation not permitted");
  EXPECT_TRUE(info.avx512);
}

TEST(CpuFlags, VendorsHaveShortNames) {
  EXPECT_EQ(x86_vendor("GenuineIntel"), "Intel");
  EXPECT_EQ(x86_vendor("AuthenticAMD"), "AMD");
  EXPECT_EQ(x86_vendor("HygonGenuine"), "HygonGenuine");
}

TEST(CpuInfo, IsCachedAndAgreesWithTheSystem) {
  const CpuInfo& info = cpu_info();
  EXPECT_EQ(&info, &cpu_info());
  EXPECT_NE(info.name, "");
  EXPECT_EQ(info.name.find('\0'), std::string::npos);
  EXPECT_GE(info.cores, 1U);
  EXPECT_LE(info.cores, std::max(1U, std::thread::hardware_concurrency()));
  EXPECT_NE(info.amx_reason.empty(), !(info.amx_int8 || info.amx_bf16));
}

#if defined(__x86_64__) && defined(__linux__)
TEST(CpuInfo, AgreesWithProcCpuinfo) {
  const std::string listed = real_os().read_file("/proc/cpuinfo").value_or("");
  const auto has = [&](const std::string& flag) { return listed.find(" " + flag + " ") != std::string::npos; };
  const CpuInfo& info = cpu_info();
  EXPECT_THAT(listed, testing::HasSubstr(info.name));
  EXPECT_EQ(info.avx2, has("avx2"));
  EXPECT_EQ(info.avx512, has("avx512f") && has("avx512bw") && has("avx512cd") && has("avx512dq") && has("avx512vl"));
  EXPECT_EQ(info.avx512_vnni, has("avx512_vnni"));
  EXPECT_EQ(info.avx512_bf16, has("avx512_bf16"));
  EXPECT_EQ(info.avx512_fp16, has("avx512_fp16"));
}
#endif

}  // namespace
}  // namespace vectis
