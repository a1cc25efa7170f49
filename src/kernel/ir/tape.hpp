// A function run once with symbols: every instruction as often as it is executed, loops unrolled.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/ir/emitter.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

inline constexpr std::uint32_t unrolled_trips_max = 1024;
inline constexpr std::size_t tape_steps_max = std::size_t{1} << 18U;

// One execution of an instruction. Two may have made one value; their adjoints are still their own.
struct Step {
  Op op = Op::constant;
  DType type = DType::float32;
  std::array<std::size_t, 3> operands{};  // steps
  std::uint32_t immediate = 0;
  Value value;          // in the function being made
  bool active = false;  // f32 that depends on an input by way of f32 alone
};

struct Tape {
  std::vector<Step> steps;
  std::vector<std::size_t> outputs;  // steps
};

// Makes the function's values with `emitter`. InvalidInput for a loop whose trips are no constant or exceed
// unrolled_trips_max, or when there are more than tape_steps_max steps.
Tape unroll(const Function& function, Emitter& emitter);

}  // namespace vectis::inline v0_1::ir
