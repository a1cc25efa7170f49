// The intermediate form of generated kernels: a typed function in static single assignment, applied to every element of
// its inputs. Tracing and fusion make one; printers turn it into kernels, executors run it, gradients and costs come
// from it.
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

// Every operation is pure and total: whatever the operands, it has a value and no effect. Integers wrap; a division or
// remainder by zero is zero, and i32's smallest by -1 wraps; shifts use the lowest five bits; a conversion to an
// integer truncates, saturates, and takes NaN to zero; gather clamps its index to the table. `round` takes ties to
// even. min and max of f32 return the other operand when one is NaN, and either zero of two; comparisons with NaN are
// false but `ne`. sign of NaN is zero. Two operands have one type, a shift's too.
enum class Op : std::uint8_t {
  // leaves; `immediate` says which
  constant,  // immediate: the 32 bits of the value
  input,     // the element of input `immediate`
  argument,  // scalar argument `immediate`
  index,     // u32: the number of the element
  // f32, i32, u32
  add,
  sub,
  mul,
  div,
  min,
  max,
  neg,
  abs,
  rem,  // i32, u32 (the sign of the dividend) and f32 (as fmod)
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
  // comparisons: two equal types but bool (eq, ne also bool) to bool
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  // i32, u32; bool for the first four
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr,  // shr of i32 keeps the sign
  popcount,
  leading_zeros,
  select,     // bool, a, b: a when true
  convert,    // to `type`, by value; from bool: 0 or 1; to bool: unequal zero
  bitcast,    // among f32, i32, u32
  gather,     // element operand 0 (u32) of table `immediate`
  random,     // u32 from (key u32, counter u32), see random_u32
  loop,       // loop `immediate` of the function; has no value itself
  result,     // value `immediate` carried out of the loop that operand 0 names
  carried,    // inside a loop's body: carried value `immediate` at the start of the iteration; operand 0 names the loop
  iteration,  // inside a loop's body, u32: the number of the iteration; operand 0 names the loop
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::iteration) + 1;

VECTIS_API std::string_view name(Op op) noexcept;      // "add"
VECTIS_API std::size_t operand_count(Op op) noexcept;  // 0 to 3

// Random numbers by counter: the same number on every device, 32 well mixed bits. Unsigned 32-bit arithmetic that
// wraps:
//   mix(x): x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16
//   k = mix(key + 0x9e3779b9);  random_u32 = mix(mix(counter ^ k) + key)
VECTIS_API std::uint32_t random_u32(std::uint32_t key, std::uint32_t counter) noexcept;

// A value is the number of the instruction that makes it.
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

using Block = std::vector<Id>;  // instructions in the order they are computed

// `trips` times: carried values start as `initial` and become `next`. Trips are a u32 constant or argument, so that
// every element does the same; zero trips carry the initial values out. The body sees the values of the blocks around
// it.
struct Loop {
  Id trips = 0;
  std::vector<Id> initial;
  Block body;
  std::vector<Id> next;
};

struct Output {
  Id value = 0;
  DType element = DType::float32;  // stored as: f32, f16, bf16 from f32, rounded to nearest, ties to even; i32 and i8
                                   // (saturated) from i32; u32 from u32
};

// Inputs and outputs are read and written at the element's own number; tables, of at least one element, at any.
struct Function {
  std::string name;  // [a-z][a-z0-9_]*, at most 64 characters
  std::vector<DType> inputs;
  std::vector<DType> tables;
  std::vector<DType> arguments;  // f32, i32 or u32
  std::vector<Output> outputs;
  std::vector<Instruction> instructions;  // all of them, also those of loops
  std::vector<Loop> loops;
  Block body;
};

// The type of an element once loaded: f32 for floats, i32 for i32 and i8, u32 for u32.
VECTIS_API DType loaded_type(DType element) noexcept;

// Throws InvalidInput naming the first instruction that is wrong: a type, an operand out of reach, a trip count that is
// no constant or argument. Every instruction is in one block, every loop in one instruction, and there is an output.
// Whatever takes a function from its caller calls this first; docs/ir.md lists the rules.
VECTIS_API void verify(const Function& function);

inline constexpr std::size_t loop_depth_max = 16;

// Makes a function step by step, checking types at once. An instruction equal to one of its block, or of a block around
// it, becomes that value (value numbering). One thread at a time.
class VECTIS_API Builder {
 public:
  explicit Builder(std::string name);
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;
  ~Builder();

  Value input(DType element);
  std::uint32_t table(DType element);  // the number of a new table
  Value argument(DType type);
  Value index();
  Value constant(float value);
  Value constant(std::int32_t value);
  Value constant(std::uint32_t value);
  Value constant(bool value);

  // Any operation whose type follows from its operands; InvalidInput for types it does not take.
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

  // begin_loop, then the body's instructions, then end_loop with the next values, which gives the values carried out.
  struct LoopHandle {
    std::uint32_t number = 0;
    Value iteration;
    std::vector<Value> carried;
  };
  LoopHandle begin_loop(Value trips, std::span<const Value> initial);
  std::vector<Value> end_loop(const LoopHandle& loop, std::span<const Value> next);

  // A tree of decisions: `conditions[i]` chooses between its two branches, a branch >= 0 is another condition, ~k is
  // leaf k. Node 0 is the root. Becomes selects; every leaf has one type.
  struct Decision {
    Value condition;
    int yes = ~0;
    int no = ~1;
  };
  Value decide(std::span<const Decision> tree, std::span<const Value> leaves);

  void output(Value value, DType element);
  // The function, verified. The builder is spent.
  Function finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// --- Passes: a new function that computes the same
// ---------------------------------------------------------------------

// Folds operations of constants, merges equal values, drops identities that are exact for every operand, and everything
// no output needs.
VECTIS_API Function simplify(const Function& function);

// Constants become trailing arguments, so that functions that differ only in constants are one kernel. `values` are the
// bits of the new arguments in order; trip counts, and 0 and 1, stay.
struct Lifted {
  Function function;
  std::vector<std::uint32_t> values;
};
VECTIS_API Lifted lift_constants(const Function& function);

// --- Text: a bug report is a text file
// ----------------------------------------------------------------------------------

VECTIS_API std::string to_text(const Function& function);
// The inverse. InvalidInput with line and column.
VECTIS_API Function from_text(std::string_view text);

// --- What it costs
// ------------------------------------------------------------------------------------------------------

struct Cost {
  double operations = 0;     // per element; a function such as exp counts as several
  double bytes_read = 0;     // per element
  double bytes_written = 0;  // per element
};
// `trips` of a loop whose count is an argument are taken as `assumed_trips`.
VECTIS_API Cost cost(const Function& function, double assumed_trips = 16);

// --- Gradients
// ----------------------------------------------------------------------------------------------------------

// A function with the inputs, tables and arguments of `function` and one more f32 input per f32 output, its adjoint;
// its outputs are the adjoints of the f32-valued inputs, in order, as f32. Decisions keep the branch that was taken;
// conversions to integers, comparisons and tables pass nothing on. InvalidInput for a loop whose trip count is no
// constant or exceeds 1024.
VECTIS_API Function derivative(const Function& function);

// --- The meaning, in double precision
// -----------------------------------------------------------------------------------

// Runs elements [0, count) one after another with f32 arithmetic done in double and never rounded to float in between:
// the oracle of every executor and printer. Each span holds packed elements as a buffer would.
struct Bindings {
  std::vector<std::span<const std::byte>> inputs;
  std::vector<std::span<const std::byte>> tables;
  std::vector<std::uint32_t> arguments;  // bits
};
// results[output][element]
VECTIS_API std::vector<std::vector<double>> interpret(const Function& function, const Bindings& bindings,
                                                      std::size_t count);

// --- Kernels
// ------------------------------------------------------------------------------------------------------------

// A kernel for the elements [0, count): buffers are inputs, tables, outputs in order; scalars are the count (u32), the
// sizes of the tables (u32), then the arguments. One work-item makes one 32-bit word of each output, so packed outputs
// need no atomics; outputs of different widths make one item serve the widest.
VECTIS_API std::string print(const Function& function, Dialect dialect, std::uint32_t group = 256);
VECTIS_API std::string entry_point(const Function& function);
// Elements one work-item makes: launch ceil(count / this) items.
VECTIS_API std::uint32_t elements_per_item(const Function& function) noexcept;

}  // namespace vectis::inline v0_1::ir
