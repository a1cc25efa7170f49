#include "tests/slots/rig.hpp"

namespace vectis::test {

const std::string_view program_text = R"(
__kernel void mirror(__global const float* in, __global float* out, float factor, int count, __local float* tile) {
  const int item = (int)get_global_id(0);
  const int local_item = (int)get_local_id(0);
  tile[local_item] = item < count ? in[item] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < count) out[item] = factor * tile[(int)get_local_size(0) - 1 - local_item] + (float)get_group_id(0);
}

__kernel void place(__global uint* out) {
  const size_t line = get_global_size(0), sheet = line * get_global_size(1);
  const size_t at = get_global_id(0) + line * get_global_id(1) + sheet * get_global_id(2);
  out[at] = (uint)(get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2) + 1000 * get_group_id(0)
                   + 10000 * get_group_id(1) + 100000 * get_group_id(2));
}

__kernel void slow(__global uint* out, uint rounds) {
  uint value = (uint)get_global_id(0);
  for (uint round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
  out[get_global_id(0)] = value;
}
)";

const std::string_view wrong_program_text = "__kernel void k() { undeclared = 1; }";

const char* const program_dialect = "opencl-c";

std::map<std::string, std::string> default_settings() { return {}; }

}  // namespace vectis::test
