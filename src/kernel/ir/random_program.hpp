// Random well-formed functions and data for them, for fuzzing, dialect conformance and property tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

struct ProgramOptions {
  std::size_t steps = 16;  // each adds one to about six instructions
  bool loops = true;       // includes nested loops
  bool packed = true;      // f16, bf16 and i8 inputs, tables and outputs
  bool special =
      false;  // includes divisions by zero, roots of negative values and overflows, which give infinities and NaN
  bool differentiable = false;  // derivative() accepts it, and finite differences converge
};

// Equal generator states give equal functions. Unless `special` is set, f32 values stay within about +-1e4 for the data
// of random_data, roots, logarithms and quotients stay away from their poles, and no step is very ill conditioned.
VECTIS_API Function random_program(Random& random, const ProgramOptions& options = {});

// The data a function reads for elements [0, count). Inputs are padded to whole 32-bit words.
struct VECTIS_API ProgramData {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> tables;  // of 4 to 64 elements, a multiple of 4
  std::vector<std::uint32_t> arguments;

  [[nodiscard]] Bindings bindings() const;  // refers to this object
};
// Floats in [-4, 4], a quarter of them multiples of 0.25; small and large integers; trip counts of at most 5.
VECTIS_API ProgramData random_data(const Function& function, std::size_t count, Random& random);

// Random elements, packed as in a buffer.
VECTIS_API std::vector<std::byte> random_elements(DType element, std::size_t count, Random& random);

}  // namespace vectis::inline v0_1::ir
