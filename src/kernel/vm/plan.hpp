// A function as a list of vector instructions over a block of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/vm/kernels.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::executor {

// Where a value lives while a block is computed.
struct Place {
  enum class Kind : std::uint8_t {
    none,
    slot,     // a block of scratch memory
    uniform,  // one vector of equal elements for all blocks
    input,    // the caller's memory, at the block's elements
    output,
  };
  Kind kind = Kind::none;
  std::uint32_t number = 0;

  bool operator==(const Place&) const = default;
};

struct LinkKind {
  ir::Op op = ir::Op::add;
  Link::Form form = Link::Form::operand_last;
};

struct Step {
  Kernel kernel = nullptr;  // null: a loop, whose body are the steps up to `end`
  Place out;
  std::vector<Place> in;
  ir::Op op = ir::Op::constant;      // index and gather need more than operands
  std::uint32_t table = 0;           // gather
  std::size_t end = 0;               // loop
  std::vector<LinkKind> links = {};  // chain: the operand of link k is in[k + 1]
  bool last = false;                 // nothing reads the result again
};

// Constants and arguments in uniforms.
struct Scalar {
  std::uint32_t uniform = 0;
  bool is_argument = false;
  std::uint32_t value = 0;  // the bits (bool: 0 or all ones), or the argument's number
};

// Immutable.
struct Plan {
  std::vector<Scalar> scalars;
  std::vector<Step> once;   // of uniforms alone, before the first block
  std::vector<Step> steps;  // of each block
  std::uint32_t slots = 0;
  std::uint32_t uniforms = 0;
  std::size_t block = 0;  // elements; a multiple of lanes_max, chosen so that what a block touches stays in L1
};

Plan make_plan(const ir::Function& function);

}  // namespace vectis::inline v0_1::executor
