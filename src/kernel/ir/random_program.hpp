// Random well-formed functions and data for them, for fuzzing, dialect conformance and property tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Size and content of the functions that random_program() makes.
struct ProgramOptions {
  std::size_t steps = 16;  // each adds one to about six instructions
  bool loops = true;       // includes nested loops
  bool packed = true;      // f16, bf16 and i8 inputs, tables and outputs
  bool special =
      false;  // includes divisions by zero, roots of negative values and overflows, which give infinities and NaN
  bool differentiable = false;  // derivative() accepts it, and finite differences converge
};

// Returns a random function that verify() accepts; equal states of `random` give equal functions. Unless
// `options.special` is set and if the data comes from random_data(), f32 values stay within about +-1e4, roots,
// logarithms and quotients stay away from their poles, and no step is very ill conditioned.
VECTIS_API Function random_program(Random& random, const ProgramOptions& options = {});

// The data that a function reads for the elements [0, count), owned. Inputs are padded to whole 32-bit words.
struct VECTIS_API ProgramData {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> tables;  // of 4 to 64 elements, a multiple of 4
  std::vector<std::uint32_t> arguments;

  // Returns bindings whose spans refer to the inputs and tables of this object, which must outlive them unchanged.
  [[nodiscard]] Bindings bindings() const;
};
// Returns random data for `count` elements of a function: floats in [-4, 4], about a quarter of them multiples of
// 0.25, small and large integers, and at most 5 for an argument that is a trip count. Requires a function that
// verify() accepts; does not check it.
VECTIS_API ProgramData random_data(const Function& function, std::size_t count, Random& random);

// Returns `count` random elements, packed as in a buffer and padded with zeros to whole 32-bit words: floats from
// -4 to 4, small and large integers. Requires a kernel type (f32, i32, u32, f16, bf16 or i8); does not check it.
VECTIS_API std::vector<std::byte> random_elements(DType element, std::size_t count, Random& random);

}  // namespace vectis::inline v0_1::ir
