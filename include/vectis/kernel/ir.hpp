// The intermediate representation (IR) of generated kernels: a typed function in static single assignment (SSA) form
// that is applied to every element of its inputs. Printers turn a function into kernel source, the CPU vector VM runs
// it, and its cost and its gradient are computed from it. docs/ir.md is the guide.
//
//   ir::Builder b("scaled_add");
//   ir::Value x = b.input(DType::float32), y = b.input(DType::float32), a = b.argument(DType::float32);
//   b.output(b.add(b.mul(a, x), y), DType::float32);
//   ir::Function f = b.finish();
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::ir {

// IR values have type float32, int32, uint32 or boolean, written f32, i32, u32 and bool below and in the text form.
//
// Every operation is pure and total: it has a value for all operands, and no side effect.
//   - Integers wrap. Division and remainder by zero are zero; INT32_MIN / -1 wraps.
//   - Shifts use the lowest five bits of the shift count.
//   - Conversion to an integer truncates and saturates; NaN becomes zero.
//   - gather clamps its index to the table.
//   - round rounds ties to even.
//   - min and max of f32 return the other operand if one is NaN, and either zero of two.
//   - Comparisons with NaN are false, except `ne`. The sign of NaN is zero.
// The operands of a binary operation have the same type, those of a shift too.
enum class Op : std::uint8_t {
  // leaves, selected by `immediate`
  constant,  // immediate: the 32 bits of the value
  input,     // the element of input `immediate`
  argument,  // scalar argument `immediate`
  index,     // u32: the index of the element
  // f32, i32, u32
  add,
  sub,
  mul,
  div,
  min,
  max,
  neg,
  abs,
  rem,  // i32 and u32 (sign of the dividend), f32 (fmod)
  fma,  // f32: a*b+c rounded once
  // f32
  sqrt,
  rsqrt,
  exp,
  exp2,
  log,
  log2,
  sin,
  cos,
  tan,
  tanh,
  asin,
  acos,
  atan,
  pow,
  atan2,
  floor,
  ceil,
  round,
  trunc,
  sign,
  erf,
  // comparisons of two operands of one type, with a bool result; eq and ne also take bool
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  // i32, u32; the first four also take bool
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr,  // arithmetic for i32, logical for u32
  popcount,
  leading_zeros,
  select,     // (bool, a, b): a if true, else b
  convert,    // to `type`, by value; bool becomes 0 or 1; nonzero becomes true
  bitcast,    // reinterprets the bits; f32, i32, u32
  gather,     // the element of table `immediate` at index operand 0 (u32)
  random,     // u32 from (key u32, counter u32), see random_u32
  loop,       // loop `immediate` of the function; has no value itself
  result,     // carried value `immediate` after the loop that is operand 0
  carried,    // in a loop's body: carried value `immediate` at the start of the iteration; operand 0 is the loop
  iteration,  // in a loop's body, u32: the index of the iteration; operand 0 is the loop
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::iteration) + 1;

VECTIS_API std::string_view name(Op op) noexcept;      // "add"
VECTIS_API std::size_t operand_count(Op op) noexcept;  // 0 to 3

// A counter-based random number generator (in the manner of Philox, Salmon et al. 2011): 32 well mixed bits that are
// the same on every device and never change between versions. In wrapping unsigned 32-bit arithmetic:
//   mix(x): x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16
//   k = mix(key + 0x9e3779b9);  random_u32 = mix(mix(counter ^ k) + key)
VECTIS_API std::uint32_t random_u32(std::uint32_t key, std::uint32_t counter) noexcept;

// A value is identified by the index of the instruction that computes it.
using Id = std::uint32_t;
struct Value {
  Id id = 0;
  DType type = DType::float32;
};

struct Instruction {
  Op op = Op::constant;
  DType type = DType::float32;
  std::array<Id, 3> operands{};
  std::uint32_t immediate = 0;
};

using Block = std::vector<Id>;  // instructions in execution order

// Runs `body` trip_count times. Carried values start as `initial` and become `next` after each iteration; with zero
// iterations the results are the initial values. The trip count is a u32 constant or argument, so that all elements do
// the same work. The body sees the values of the enclosing blocks.
struct Loop {
  Id trip_count = 0;
  std::vector<Id> initial;
  Block body;
  std::vector<Id> next;
};

// The type an output is stored as. f32 values are stored as float32, float16 or bfloat16, rounded to nearest, ties to
// even; i32 values as int32 or int8 (saturated); u32 values as uint32.
struct Output {
  Id value = 0;
  DType element = DType::float32;
};

// Element i of the result is computed from element i of every input. Tables, of at least one element each, can be read
// at any index.
struct Function {
  std::string name;              // [a-z][a-z0-9_]*, at most 64 characters
  std::vector<DType> inputs;     // types for which is_kernel_type holds
  std::vector<DType> tables;     // likewise
  std::vector<DType> arguments;  // float32, int32 or uint32
  std::vector<Output> outputs;
  std::vector<Instruction> instructions;  // of all blocks
  std::vector<Loop> loops;
  Block body;
};

// The type of the value that loading an element gives: float32 for float types, int32 for int32 and int8, uint32 for
// uint32.
VECTIS_API DType loaded_type(DType element) noexcept;

// Checks that a function is well formed: types, operands that dominate their uses, trip counts that are constants or
// arguments, every instruction in one block, every loop in one instruction, at least one output. Throws InvalidInput
// that names the first wrong instruction. Every function of this API that takes a Function verifies it first;
// docs/ir.md lists the rules.
VECTIS_API void verify(const Function& function);

inline constexpr std::size_t loop_depth_max = 16;

// Builds a function instruction by instruction, and checks types immediately: a call with a value of another builder,
// of a loop that has ended, or of a type that the operation does not take throws InvalidInput and changes nothing. An
// instruction equal to an earlier one of its block or of an enclosing block returns that value (value numbering). One
// thread at a time.
class VECTIS_API Builder {
 public:
  // Throws InvalidInput unless `name` matches [a-z][a-z0-9_]* and has at most 64 characters.
  explicit Builder(std::string name);
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;
  ~Builder();

  // Adds an input, table or argument. Throws InvalidInput for a type that kernels cannot hold (is_kernel_type), and for
  // an argument that is not float32, int32 or uint32.
  Value input(DType element);
  std::uint32_t table(DType element);  // returns the index of the new table
  Value argument(DType type);
  Value index();
  Value constant(float value);
  Value constant(std::int32_t value);
  Value constant(std::uint32_t value);
  Value constant(bool value);

  // Any operation whose result type follows from its operands. Throws InvalidInput for types it does not take.
  Value apply(Op op, std::span<const Value> operands);
  Value add(Value a, Value b) { return binary(Op::add, a, b); }
  Value sub(Value a, Value b) { return binary(Op::sub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::mul, a, b); }
  Value div(Value a, Value b) { return binary(Op::div, a, b); }
  Value unary(Op op, Value a) { return apply(op, std::array{a}); }
  Value binary(Op op, Value a, Value b) { return apply(op, std::array{a, b}); }
  Value select(Value condition, Value yes, Value no) { return apply(Op::select, std::array{condition, yes, no}); }
  Value convert(Value a, DType to);
  Value bitcast(Value a, DType to);
  Value gather(std::uint32_t table, Value index);
  Value random(Value key, Value counter) { return binary(Op::random, key, counter); }

  // A loop: begin_loop, the body's instructions, then end_loop with the next values of the carried values. end_loop
  // returns the carried values after the loop. Throws InvalidInput when the trip count is no u32 constant or argument,
  // for more than loop_depth_max nested loops, when loops are not ended innermost first, or when `next` does not match
  // the carried values in number and type; the loop then stays open.
  struct LoopHandle {
    std::uint32_t number = 0;  // index of the loop in the function
    Value iteration;
    std::vector<Value> carried;
  };
  LoopHandle begin_loop(Value trip_count, std::span<const Value> initial);
  std::vector<Value> end_loop(const LoopHandle& loop, std::span<const Value> next);

  // A decision tree, built as selects. Node 0 is the root. A branch >= 0 is the index of another node, ~k is leaf k.
  // All leaves have one type. Throws InvalidInput for a branch out of range, a cycle, or a tree deeper than 4096 nodes.
  struct DecisionNode {
    Value condition;
    int yes = ~0;
    int no = ~1;
  };
  Value decision_tree(std::span<const DecisionNode> nodes, std::span<const Value> leaves);

  // Throws InvalidInput when the type of `value` is not loaded_type(element), or a loop is open.
  void output(Value value, DType element);
  // Returns the verified function and leaves the builder empty. Throws InvalidInput when a loop is open or there is no
  // output.
  Function finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// --- Passes ---------------------------------------------------------------------------------------------------------

// Returns a function with the same results in fewer instructions: constant folding, common subexpression elimination,
// algebraic identities that are exact for every operand, and dead code elimination.
VECTIS_API Function simplify(const Function& function);

// Replaces constants by trailing arguments, so that functions that differ only in constants share one compiled kernel.
// `values` holds the bits of the new arguments in order. Trip counts, 0 and 1 stay constants.
struct LiftedFunction {
  Function function;
  std::vector<std::uint32_t> values;
};
VECTIS_API LiftedFunction lift_constants(const Function& function);

// --- Text form (docs/formats/ir-text.md) ----------------------------------------------------------------------------

VECTIS_API std::string to_text(const Function& function);
// Parses what to_text writes. Throws InvalidInput with line and column.
VECTIS_API Function from_text(std::string_view text);

// --- Cost -----------------------------------------------------------------------------------------------------------

struct Cost {
  double operations = 0;     // per element, in additions; exp counts as 16, a division as 6
  double bytes_read = 0;     // per element
  double bytes_written = 0;  // per element
};
// Estimates the cost per element. A loop whose trip count is an argument counts `assumed_trips` iterations.
VECTIS_API Cost estimate_cost(const Function& function, double assumed_trips = 16);

// --- Reverse-mode differentiation -----------------------------------------------------------------------------------

// Returns the vector-Jacobian product of `function`. The result has the inputs, tables and arguments of `function` plus
// one float32 input per f32 output, its adjoint; its outputs are the adjoints of the f32 inputs, in order, as float32.
// The derivative follows the branch that a select, min or max takes; integers, comparisons and tables have none. Throws
// InvalidInput for a function without f32 inputs or outputs, and for a loop whose trip count is not a constant or
// exceeds 1024 (loops are unrolled).
VECTIS_API Function derivative(const Function& function);

// --- Reference interpreter ------------------------------------------------------------------------------------------

// What a function reads. Each span holds packed elements, as a buffer would.
struct Bindings {
  std::vector<std::span<const std::byte>> inputs;
  std::vector<std::span<const std::byte>> tables;
  std::vector<std::uint32_t> arguments;  // bits
};
// Runs elements [0, count) one after another, f32 arithmetic in double precision without rounding to float in between:
// the reference for the VM and for every printer. Returns results[output][element]. Throws InvalidInput when a binding
// is missing or holds fewer elements than are read.
VECTIS_API std::vector<std::vector<double>> interpret(const Function& function, const Bindings& bindings,
                                                      std::size_t count);

// --- Kernel source --------------------------------------------------------------------------------------------------

// Returns kernel source for the elements [0, count). Its buffers are inputs, tables, outputs in order; its scalars are
// the count (u32), the sizes of the tables (u32), then the arguments. One work-item writes whole 32-bit words of each
// output, so packed outputs need no atomics. `group` is the number of work-items per work-group. Requires a verified
// function.
VECTIS_API std::string print(const Function& function, Dialect dialect, std::uint32_t group = 256);
// The name of the kernel in the printed source: "vt_" and the function's name.
VECTIS_API std::string entry_point(const Function& function);
// Elements per work-item: launch ceil(count / elements_per_item) work-items.
VECTIS_API std::uint32_t elements_per_item(const Function& function) noexcept;

}  // namespace vectis::inline v0_1::ir
