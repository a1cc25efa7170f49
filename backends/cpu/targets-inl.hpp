// The frame of a source file with SIMD code: Highway's foreach_target compiles the file once for each of the
// instruction sets below. The file defines HWY_TARGET_INCLUDE as its own path and includes this header first. No
// include guard: each pass over the file includes it again.

// AVX-512, AVX2 and the baseline. SSSE3 and SSE4 would double the compile time for CPUs from before 2013.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The widest vector of floats of the instruction set: Highway's tag, and the vector.
using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

}  // namespace vectis::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
