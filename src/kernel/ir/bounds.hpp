// How far an honest f32 implementation may be from the interpreter: the interpreter's value beside an interval that
// holds whatever such an implementation can compute. What a test of an executor or a printed kernel compares with.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/ir/accuracy.hpp"
#include "kernel/ir/machine.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

struct Bounded {
  double value = 0;        // f32: what interpret gives
  double low = 0;          // f32: an implementation's value and the interpreter's lie in [low, high]; all three NaN or
  double high = 0;         // all three the same infinity: so does the implementation's
  std::uint32_t bits = 0;  // i32, u32, bool
  bool known = true;       // false: may be anything, also NaN (f32) or another number (integers)
  bool decided = true;     // false: a comparison, a rounding or an index on the way could go either way
  double terms = 0;        // f32: no less than any partial sum of what was added up to make it; 0: the ends say it
};

// results[output][element]; integers have value = low = high.
std::vector<std::vector<Bounded>> interpret_with_bounds(const Function& function, const Bindings& bindings,
                                                        std::size_t count, const Accuracy& accuracy = usual_accuracy());

// Whether an implementation may have stored `stored` for this output. Always true when it is not known.
bool accepts(const Bounded& expected, DType element, double stored) noexcept;

// The domain of a Machine that does it.
class Enclosing {
 public:
  using Value = Bounded;
  explicit Enclosing(const Accuracy& accuracy = usual_accuracy()) : accuracy_(&accuracy) {}
  static Value real(double value);
  static Value whole(DType, std::uint32_t bits) { return {.bits = bits}; }
  static Value gathered(const Value& value, const Value& index, DType type);
  Value apply(const Instruction& one, DType operand, const std::array<Value, 3>& operands) const;

 private:
  const Accuracy* accuracy_;
};

}  // namespace vectis::inline v0_1::ir
