// The instruction sets that operations are compiled for: AVX-512, AVX2 and the baseline. SSSE3 and SSE4 would double
// the compile time for CPUs from before 2013. Include before <hwy/foreach_target.h>.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
