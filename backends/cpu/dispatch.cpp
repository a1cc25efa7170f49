// This file is compiled once for each instruction set, by Highway's foreach_target; the last section once in all.

// Highway leaves AVX3_DL (VNNI and its kin) out unless asked.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "backends/cpu/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

const char* Target() { return hwy::TargetName(HWY_TARGET); }
std::size_t VectorBytes() { return hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<unsigned char>()); }

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

HWY_EXPORT(Target);
HWY_EXPORT(VectorBytes);

const char* dispatch_target() { return HWY_DYNAMIC_DISPATCH(Target)(); }
std::size_t dispatch_vector_bytes() { return HWY_DYNAMIC_DISPATCH(VectorBytes)(); }

}  // namespace vectis::cpu
#endif
