// Which instruction sets operations are compiled for: AVX-512, AVX2 and plain C++. The two SSE sets between
// them would double the compile time for processors from before 2013. Included before <hwy/foreach_target.h>.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
