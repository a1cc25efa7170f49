// Error bounds for f32 implementations of the IR, by interval arithmetic: the interpreter's value, with an interval
// that contains every result a conforming implementation can compute. Tests of the VM and of printed kernels compare
// with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/ir/interpreter.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// The accuracy that an implementation of the IR promises, in tables indexed by Op. The error of a result is at most
//   max((ulps + ulps_by_size * |last operand|) units in the last place, absolute).
// ulps = 0 means exact (min, floor), 0.5 correctly rounded, infinity no promise. Subnormal results may be flushed to
// zero.
struct Accuracy {
  std::array<double, op_count> ulps{};
  std::array<double, op_count> ulps_by_size{};
  std::array<double, op_count> absolute{};
  double angle_max = 30000;    // sin, cos and tan of a larger |angle| may be any value
  double divisor_max = 1e300;  // a quotient by a larger |divisor| may be any value
  bool reorders = false;       // sums and products may be reassociated and contracted
};

inline constexpr double correctly_rounded = 0.5;  // ulps

// Returns the accuracy of the full profile of OpenCL 1.2 (section 7.4), or the documented error of Highway's
// functions where that is larger. Does not throw.
VECTIS_API const Accuracy& default_accuracy() noexcept;
// Returns the accuracy that WGSL specifies, and for Vectis's helper functions in printed kernels the error that
// follows from it. WGSL promises nothing for tan. Does not throw.
VECTIS_API const Accuracy& shader_accuracy() noexcept;
// Returns the accuracy of printed kernels in `dialect`: shader_accuracy() for WGSL and both GLSL dialects, else
// default_accuracy(). Without a dialect, returns that of the CPU vector VM, default_accuracy(). Does not throw.
VECTIS_API const Accuracy& accuracy_of(std::optional<Dialect> dialect) noexcept;

// The interpreter's value of one element, and bounds of what a conforming implementation may compute for it.
struct BoundedValue {
  // f32: the interpreter's value, and an interval that contains it and every conforming implementation's value. If all
  // three are NaN or the same infinity, implementations compute exactly that.
  double value = 0;
  double low = 0;
  double high = 0;
  std::uint32_t bits = 0;  // i32, u32, bool
  bool known = true;       // false: may be any value of the type, also NaN
  bool decided = true;  // false: depends on a comparison, rounding or index that implementations may decide differently
  double terms = 0;     // f32: bounds the magnitude of every partial sum; 0: low and high do
};

// Runs a function for the elements [0, count) and returns results[output][element]: the interpreter's value and the
// interval of all results that `accuracy` allows; integers have value = low = high. Throws InvalidInput if the
// function does not verify, a binding is missing, an input holds fewer than `count` elements, or a table is empty.
VECTIS_API std::vector<std::vector<BoundedValue>> interpret_with_bounds(const Function& function,
                                                                        const Bindings& bindings, std::size_t count,
                                                                        const Accuracy& accuracy = default_accuracy());

// Returns whether a conforming implementation may store `stored` in an output of type `element` where the bounds are
// `expected`: a NaN requires a NaN, and every value is accepted if `expected.known` is false. Requires the value read
// back from the output, packed types included. Does not throw.
VECTIS_API bool accepts(const BoundedValue& expected, DType element, double stored) noexcept;

// The Domain with which Interpreter computes a BoundedValue for each value, at a given accuracy. Keeps a pointer to
// the accuracy, which must outlive the domain.
class IntervalDomain {
 public:
  using Value = BoundedValue;
  explicit IntervalDomain(const Accuracy& accuracy = default_accuracy()) : accuracy_(&accuracy) {}
  // Returns an f32 value with `value` as its bounds, or with zero included if `value` is subnormal.
  static Value real(double value);
  static Value integer(DType, std::uint32_t bits) { return {.bits = bits}; }
  // Returns the bounds of a gather of type `type`: `value`, the table's element at the interpreter's index, or any
  // value if the index is not known.
  static Value gathered(const Value& value, const Value& index, DType type);
  // Returns the bounds of an operation, given the type of its first operand; any value if an operand is not known.
  // Except select: it ignores the choice that its condition rules out, and if the condition is not known, the result
  // encloses both choices if these are known and are finite f32 values or equal integers. The instruction must be no
  // leaf, gather or part of a loop; this is not checked.
  Value apply(const Instruction& inst, DType operand, const std::array<Value, 3>& operands) const;

 private:
  const Accuracy* accuracy_;
};

}  // namespace vectis::inline v0_1::ir
