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

// The accuracy an implementation promises, per operation. The error of a result is at most
//   max((ulps + ulps_by_size * |last operand|) units in the last place, absolute).
// ulps = 0 means exact (min, floor), 0.5 correctly rounded, infinity no promise. Subnormal results may be flushed to
// zero.
struct Accuracy {
  std::array<double, op_count> ulps{};
  std::array<double, op_count> ulps_by_size{};
  std::array<double, op_count> absolute{};
  double angle_max = 30000;    // beyond it, sin, cos and tan may be anything
  double divisor_max = 1e300;  // beyond it, quotients may be anything
  bool reorders = false;       // sums and products may be reassociated and contracted
};

inline constexpr double correctly_rounded = 0.5;  // ulps

// The full profile of OpenCL 1.2 (section 7.4), or the documented error of Highway's functions where that is larger.
VECTIS_API const Accuracy& default_accuracy() noexcept;
// The accuracy WGSL specifies, and for our own helper functions the error that follows from it.
VECTIS_API const Accuracy& shader_accuracy() noexcept;
// The accuracy of kernels in a dialect; without one, of the CPU vector VM.
VECTIS_API const Accuracy& accuracy_of(std::optional<Dialect> dialect) noexcept;

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

// Returns results[output][element]; integers have value = low = high. Throws as interpret().
VECTIS_API std::vector<std::vector<BoundedValue>> interpret_with_bounds(const Function& function,
                                                                        const Bindings& bindings, std::size_t count,
                                                                        const Accuracy& accuracy = default_accuracy());

// True if a conforming implementation may store `stored` for this output; always true for an unknown value.
VECTIS_API bool accepts(const BoundedValue& expected, DType element, double stored) noexcept;

// The Interpreter's domain of intervals.
class IntervalDomain {
 public:
  using Value = BoundedValue;
  explicit IntervalDomain(const Accuracy& accuracy = default_accuracy()) : accuracy_(&accuracy) {}
  static Value real(double value);
  static Value integer(DType, std::uint32_t bits) { return {.bits = bits}; }
  static Value gathered(const Value& value, const Value& index, DType type);
  Value apply(const Instruction& inst, DType operand, const std::array<Value, 3>& operands) const;

 private:
  const Accuracy* accuracy_;
};

}  // namespace vectis::inline v0_1::ir
