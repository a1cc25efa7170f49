// Random well-formed programs and data for them: what fuzzing, the proof of the dialects and the property tests run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

struct ProgramOptions {
  std::size_t steps = 16;       // each makes one to about six instructions
  bool loops = true;            // also nested ones
  bool packed = true;           // f16, bf16 and i8 inputs, tables and outputs
  bool special = false;         // also divisions by zero, roots of negative numbers, overflows: infinities and NaN
  bool differentiable = false;  // derivative() takes it, and finite differences mean something
};

// Equal generators give equal programs. Unless `special` is set, f32 values stay within about +-1e4 for the data of
// random_data, roots, logarithms and quotients keep away from their poles, and nothing is very ill conditioned.
Function random_program(Random& random, const ProgramOptions& options = {});

// What a function reads, for elements [0, count). Inputs are padded to whole 32-bit words.
struct ProgramData {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> tables;  // of 4 to 64 elements, a multiple of 4
  std::vector<std::uint32_t> arguments;

  [[nodiscard]] Bindings bindings() const;  // views of this object
};
// Floats in [-4, 4], many of them on quarters; integers small and large. Arguments that count trips are at most 5.
ProgramData random_data(const Function& function, std::size_t count, Random& random);

// Elements of a type as a buffer holds them.
std::vector<std::byte> random_elements(DType element, std::size_t count, Random& random);

}  // namespace vectis::inline v0_1::ir
