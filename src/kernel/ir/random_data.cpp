#include <bit>
#include <cstring>

#include "kernel/ir/random_program.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::ir {

namespace {

constexpr std::uint32_t trips_max = 5;

float random_real(Random& random) {
  const auto quarter = static_cast<float>(random.below(33)) / 4.0F - 4.0F;  // ties of rounding and equal values
  return random.below(4) == 0 ? quarter : static_cast<float>(random.unit() * 8 - 4);
}

std::uint32_t random_whole(Random& random) {
  const std::uint64_t draw = random.next();
  switch (draw & 3U) {
    case 0:
      return static_cast<std::uint32_t>(draw >> 32U);
    case 1:
      return static_cast<std::uint32_t>((draw >> 32U) & 15U);
    case 2:
      return 0U - static_cast<std::uint32_t>((draw >> 32U) & 255U);
    default:
      return static_cast<std::uint32_t>((draw >> 32U) & 1023U);
  }
}

template <class Bits>
void put(std::vector<std::byte>* bytes, std::size_t at, Bits bits) {
  std::memcpy(bytes->data() + at * sizeof(Bits), &bits, sizeof(Bits));
}

}  // namespace

std::vector<std::byte> random_elements(DType element, std::size_t count, Random& random) {
  const std::size_t per_word = lanes(element);
  std::vector<std::byte> bytes((count + per_word - 1) / per_word * 4);
  for (std::size_t i = 0; i < count; ++i) {
    switch (element) {
      case DType::float32:
        put(&bytes, i, random_real(random));
        break;
      case DType::float16:
        put(&bytes, i, to_half(random_real(random)).bits);
        break;
      case DType::bfloat16:
        put(&bytes, i, to_bfloat16(random_real(random)).bits);
        break;
      case DType::int8:
        put(&bytes, i, static_cast<std::uint8_t>(random.below(256)));
        break;
      default:
        put(&bytes, i, random_whole(random));
    }
  }
  return bytes;
}

Bindings ProgramData::bindings() const {
  Bindings all;
  all.inputs.assign(inputs.begin(), inputs.end());
  all.tables.assign(tables.begin(), tables.end());
  all.arguments = arguments;
  return all;
}

ProgramData random_data(const Function& function, std::size_t count, Random& random) {
  ProgramData data;
  for (const DType element : function.inputs) data.inputs.push_back(random_elements(element, count, random));
  for (const DType element : function.tables)
    data.tables.push_back(random_elements(element, 4 + 4 * random.below(16), random));
  for (const DType type : function.arguments)
    data.arguments.push_back(type == DType::float32 ? std::bit_cast<std::uint32_t>(random_real(random))
                                                    : random_whole(random));
  for (const Loop& loop : function.loops) {
    const Instruction& trips = function.instructions[loop.trips];
    if (trips.op == Op::argument)
      data.arguments[trips.immediate] = static_cast<std::uint32_t>(random.below(trips_max + 1));
  }
  return data;
}

}  // namespace vectis::inline v0_1::ir
