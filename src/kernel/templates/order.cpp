#include "kernel/templates/order.hpp"

namespace vectis::inline v0_1::detail {

const char* const order_functions = R"(
FUNCTION uint order_key(float value) {
  uint bits = AS_U32(value);
  if ((bits << 1) == 0u) { bits = 0u; }
  uint key = bits | 0x80000000u;
  if ((bits & 0x80000000u) != 0u) { key = ~bits; }
  if (IS_NAN(value)) { key = 0xffffffffu; }
  return key;
}
FUNCTION uint descending_key(float value) {
  uint key = ~order_key(value);
  if (IS_NAN(value)) { key = 0xffffffffu; }
  return key;
}
FUNCTION float key_value(uint key) {
  uint bits = ~key;
  if ((key & 0x80000000u) != 0u) { bits = key & 0x7fffffffu; }
  return AS_F32(bits);
}
)";

const char* const lowest_key = "0x007fffffu";

}  // namespace vectis::inline v0_1::detail
