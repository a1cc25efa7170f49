// Run-time dispatch: the widest instruction set of this machine that the build has code for.
#pragma once

#include <cstddef>

namespace vectis::cpu {

// Highway's name of it: "AVX3_DL", "AVX2", "NEON".
const char* dispatch_target();
// The bytes of one vector there.
std::size_t dispatch_vector_bytes();

}  // namespace vectis::cpu
