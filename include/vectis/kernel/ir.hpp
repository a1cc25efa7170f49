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

// The operations of IR functions. Values have type float32, int32, uint32 or boolean, written f32, i32, u32 and bool
// below and in the text form.
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
// Number of operations in Op.
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::iteration) + 1;

// Returns the operation's name in the text form. `op` must be an enumerator of Op. Does not throw.
VECTIS_API std::string_view name(Op op) noexcept;  // "add"
// Returns how many of Instruction::operands the operation uses. `op` must be an enumerator of Op. Does not throw.
VECTIS_API std::size_t operand_count(Op op) noexcept;  // 0 to 3

// A counter-based random number generator (in the manner of Philox, Salmon et al. 2011): 32 well mixed bits that are
// the same on every device and never change between versions. In wrapping unsigned 32-bit arithmetic:
//   mix(x): x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16
//   first = mix(counter ^ mix(key + 0x9e3779b9));  random_u32 = mix(first + key) + first
VECTIS_API std::uint32_t random_u32(std::uint32_t key, std::uint32_t counter) noexcept;

// Identifies a value of a function: the index of the instruction that computes it.
using Id = std::uint32_t;
// A value of the function that a Builder builds: the index of its instruction, and its type. Valid only for that
// builder; passing it to another builder throws InvalidInput if index or type do not match.
struct Value {
  Id id = 0;
  DType type = DType::float32;
};

// One instruction of a function: an operation, the type of its value, its operands and its immediate, whose meaning
// the list of Op states. verify() throws InvalidInput for an operand that does not dominate its use or has a wrong
// type.
struct Instruction {
  Op op = Op::constant;
  DType type = DType::float32;
  std::array<Id, 3> operands{};
  std::uint32_t immediate = 0;
};

// The instructions of a function's body or of a loop's body, in execution order.
using Block = std::vector<Id>;  // instructions in execution order

// A loop that runs `body` trip_count times. Carried values start as `initial` and become `next` after each
// iteration; with zero iterations the results are the initial values. The body sees the values of the enclosing
// blocks. The trip count must be a u32 constant or argument, else verify() throws InvalidInput.
struct Loop {
  Id trip_count = 0;
  std::vector<Id> initial;
  Block body;
  std::vector<Id> next;
};

// An output of a function: a value and the type it is stored as. f32 values are stored as float32, float16 or
// bfloat16, rounded to nearest, ties to even; i32 values as int32 or int8 (saturated); u32 values as uint32.
// verify() throws InvalidInput for other combinations.
struct Output {
  Id value = 0;
  DType element = DType::float32;
};

// A function in SSA form that computes element i of each output from element i of every input; tables, of at least
// one element each, can be read at any index. verify() throws InvalidInput if the function is not well formed.
struct Function {
  std::string name;              // [a-z][a-z0-9_]*, at most 64 characters
  std::vector<DType> inputs;     // types for which is_kernel_type holds
  std::vector<DType> tables;     // types for which is_kernel_type holds
  std::vector<DType> arguments;  // float32, int32 or uint32
  std::vector<Output> outputs;
  std::vector<Instruction> instructions;  // of all blocks
  std::vector<Loop> loops;
  Block body;
};

// Returns the type of the value that loading an element gives: float32 for float32, float16 and bfloat16, int32 for
// int32 and int8, uint32 for uint32. Requires is_kernel_type(element). Does not throw.
VECTIS_API DType loaded_type(DType element) noexcept;

// Checks that a function is well formed: types, operands that dominate their uses, trip counts that are u32
// constants or arguments, every instruction in one block, every loop in one instruction, at least one output. Throws
// InvalidInput that names the first wrong instruction. All functions of this header that take a Function verify it
// first, except print(), entry_point() and elements_per_item(). docs/ir.md lists the rules.
VECTIS_API void verify(const Function& function);

// Maximum depth of nested loops in a function.
inline constexpr std::size_t loop_depth_max = 16;

// Builds a function instruction by instruction, and checks types immediately: a call with a value of another builder,
// of a loop that has ended, or of a type that the operation does not take throws InvalidInput and changes nothing. An
// instruction equal to an earlier one of its block or of an enclosing block returns that value (value numbering). One
// thread at a time.
class VECTIS_API Builder {
 public:
  // Begins a function of this name. Throws InvalidInput unless `name` matches [a-z][a-z0-9_]* and has at most 64
  // characters.
  explicit Builder(std::string name);
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;
  ~Builder();

  // Adds an input whose elements have type `element`, and returns the value of its current element. Throws
  // InvalidInput unless is_kernel_type(element).
  Value input(DType element);
  // Adds a table whose elements have type `element`, and returns its index for gather(). Throws InvalidInput unless
  // is_kernel_type(element).
  std::uint32_t table(DType element);  // returns the index of the new table
  // Adds a scalar argument and returns its value. Throws InvalidInput unless `type` is float32, int32 or uint32.
  Value argument(DType type);
  // Returns the u32 index of the current element.
  Value index();
  // Returns an f32 constant: an equal one that exists, or a new one at the end of the function's body, but before the
  // outermost open loop.
  Value constant(float value);
  // Returns an i32 constant: an equal one that exists, or a new one at the end of the function's body, but before the
  // outermost open loop.
  Value constant(std::int32_t value);
  // Returns a u32 constant: an equal one that exists, or a new one at the end of the function's body, but before the
  // outermost open loop.
  Value constant(std::uint32_t value);
  // Returns a bool constant: an equal one that exists, or a new one at the end of the function's body, but before the
  // outermost open loop.
  Value constant(bool value);

  // Appends an operation whose result type follows from its operands, and returns its value, or that of an equal
  // earlier instruction. Throws InvalidInput if the number or types of the operands do not suit `op`, if `op` is a
  // leaf, convert, bitcast, gather or a loop operation, or if an operand belongs to another builder or to an ended
  // loop.
  Value apply(Op op, std::span<const Value> operands);
  // Returns a + b of two f32, i32 or u32 values. Integers wrap. Throws InvalidInput if the types differ or are bool,
  // or a value belongs to another builder or to an ended loop.
  Value add(Value a, Value b) { return binary(Op::add, a, b); }
  // Returns a - b of two f32, i32 or u32 values. Integers wrap. Throws InvalidInput if the types differ or are bool,
  // or a value belongs to another builder or to an ended loop.
  Value sub(Value a, Value b) { return binary(Op::sub, a, b); }
  // Returns a * b of two f32, i32 or u32 values. Integers wrap. Throws InvalidInput if the types differ or are bool,
  // or a value belongs to another builder or to an ended loop.
  Value mul(Value a, Value b) { return binary(Op::mul, a, b); }
  // Returns a / b of two f32, i32 or u32 values. Integer division by zero gives 0. Throws InvalidInput if the types
  // differ or are bool, or a value belongs to another builder or to an ended loop.
  Value div(Value a, Value b) { return binary(Op::div, a, b); }
  // Returns the result of an operation with one operand. Throws InvalidInput if `op` does not take one operand of
  // this type, or the value belongs to another builder or to an ended loop.
  Value unary(Op op, Value a) { return apply(op, std::array{a}); }
  // Returns the result of an operation with two operands. Throws InvalidInput if `op` does not take two operands of
  // these types, or a value belongs to another builder or to an ended loop.
  Value binary(Op op, Value a, Value b) { return apply(op, std::array{a, b}); }
  // Returns `yes` where `condition` is true, else `no`. Throws InvalidInput unless `condition` is bool and both
  // others have one type, and if a value belongs to another builder or to an ended loop.
  Value select(Value condition, Value yes, Value no) { return apply(Op::select, std::array{condition, yes, no}); }
  // Converts `a` by value to float32, int32, uint32 or boolean; to an integer it truncates and saturates, NaN
  // becomes 0. Throws InvalidInput for another type, or if `a` belongs to another builder or to an ended loop.
  Value convert(Value a, DType to);
  // Reinterprets the bits of `a` as float32, int32 or uint32. Throws InvalidInput if either type is bool or another
  // type, or if `a` belongs to another builder or to an ended loop.
  Value bitcast(Value a, DType to);
  // Returns the element of a table at `index`, clamped to the table. Throws InvalidInput if table() did not return
  // `table`, `index` is not u32, or `index` belongs to another builder or to an ended loop.
  Value gather(std::uint32_t table, Value index);
  // Returns random_u32(key, counter). Throws InvalidInput unless both values are u32, and if a value belongs to
  // another builder or to an ended loop.
  Value random(Value key, Value counter) { return binary(Op::random, key, counter); }

  // An open loop of a Builder: the values that its body uses. Pass it unchanged to end_loop().
  struct LoopHandle {
    std::uint32_t number = 0;  // index of the loop in the function
    Value iteration;
    std::vector<Value> carried;
  };
  // Opens a loop; later instructions go to its body until end_loop(). The handle holds the iteration index and the
  // carried values, which start as `initial`. Throws InvalidInput if `trip_count` is not a u32 constant or argument,
  // more than loop_depth_max loops would be nested, or a value belongs to another builder or to an ended loop.
  LoopHandle begin_loop(Value trip_count, std::span<const Value> initial);
  // Ends the innermost open loop, whose carried values become `next` after each iteration, and returns the carried
  // values after the loop. Throws InvalidInput if `loop` is not the innermost open loop, or `next` differs from the
  // carried values in number or types; the loop then stays open.
  std::vector<Value> end_loop(const LoopHandle& loop, std::span<const Value> next);

  // A node of a decision tree. A branch >= 0 is the index of another node, ~k is leaf k.
  struct DecisionNode {
    Value condition;
    int yes = ~0;
    int no = ~1;
  };
  // Builds a decision tree as selects and returns the leaf that the conditions choose. Node 0 is the root; without
  // nodes the result is leaf 0. Conditions must be bool and all leaves of one type. Throws InvalidInput if not, and
  // for a branch out of range, a cycle, or a tree deeper than 4096 nodes; selects appended before the failure stay,
  // unused.
  Value decision_tree(std::span<const DecisionNode> nodes, std::span<const Value> leaves);

  // Adds an output that stores `value` as elements of type `element`. Throws InvalidInput if the value's type is not
  // loaded_type(element), a loop is open, or the value belongs to another builder or to an ended loop.
  void output(Value value, DType element);
  // Returns the verified function; the builder must not be used afterwards. Throws InvalidInput if a loop is open or
  // there is no output.
  Function finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// --- Passes ---------------------------------------------------------------------------------------------------------

// Returns a function with the same results, usually in fewer instructions: constant folding, common subexpression
// elimination, algebraic identities that are exact for every operand, and dead code elimination. Throws InvalidInput
// if `function` does not verify.
VECTIS_API Function simplify(const Function& function);

// A function whose constants lift_constants() replaced by trailing arguments, and the bits of those arguments in
// order.
struct LiftedFunction {
  Function function;
  std::vector<std::uint32_t> values;
};
// Replaces constants by trailing arguments, so that functions that differ only in constants share one compiled
// kernel. Bools, trip counts, 0 and 1 stay constants. Throws InvalidInput if `function` does not verify.
VECTIS_API LiftedFunction lift_constants(const Function& function);

// --- Text form (docs/formats/ir-text.md) ----------------------------------------------------------------------------

// Returns the text form of the function, which from_text() parses. Throws InvalidInput if `function` does not
// verify.
VECTIS_API std::string to_text(const Function& function);
// Parses the text form that to_text() writes, and returns the verified function. Throws InvalidInput, with line and
// column, if the text is malformed or the function does not verify.
VECTIS_API Function from_text(std::string_view text);

// --- Cost -----------------------------------------------------------------------------------------------------------

// Estimated cost of an IR function per element.
struct Cost {
  double operations = 0;     // per element, in additions; exp counts as 16, a division as 6
  double bytes_read = 0;     // per element
  double bytes_written = 0;  // per element
};
// Estimates the cost of the function per element. A loop whose trip count is an argument counts `assumed_trips`
// iterations. Throws InvalidInput if `function` does not verify.
VECTIS_API Cost estimate_cost(const Function& function, double assumed_trips = 16);

// --- Reverse-mode differentiation -----------------------------------------------------------------------------------

// Returns the vector-Jacobian product (reverse mode): inputs, tables and arguments of `function` plus one float32
// input per f32 output, its adjoint; outputs are the adjoints of the f32 inputs as float32. Integers, comparisons
// and tables have no derivative. Throws InvalidInput if `function` does not verify, has no f32 input or output, has
// a loop whose trip count is not a constant of at most 1024, or exceeds 2^18 steps with loops unrolled.
VECTIS_API Function derivative(const Function& function);

// --- Reference interpreter ------------------------------------------------------------------------------------------

// The inputs, tables and arguments of one run of interpret(). Each span holds packed elements, as a buffer would,
// and must stay valid during the call. interpret() throws InvalidInput if a binding is missing or too short.
struct Bindings {
  std::vector<std::span<const std::byte>> inputs;
  std::vector<std::span<const std::byte>> tables;
  std::vector<std::uint32_t> arguments;  // bits
};
// Runs elements [0, count) one after another, f32 arithmetic in double precision without rounding to float in
// between: the reference for the VM and for every printer. Returns results[output][element]. Throws InvalidInput if
// `function` does not verify, a binding is missing, an input holds fewer than `count` elements or a table holds
// none.
VECTIS_API std::vector<std::vector<double>> interpret(const Function& function, const Bindings& bindings,
                                                      std::size_t count);

// --- Kernel source --------------------------------------------------------------------------------------------------

// Returns kernel source for the elements [0, count). Its buffers are inputs, tables, outputs in order; its scalars
// are the count (u32, at least 1), the sizes of the tables (u32), then the arguments. One work-item writes whole
// 32-bit words of each output, so packed outputs need no atomics. `group` is the number of work-items per
// work-group. Requires a verified function, which is not checked.
VECTIS_API std::string print(const Function& function, Dialect dialect, std::uint32_t group = 256);
// Returns the name of the kernel in source printed as OpenCL C, CUDA, HIP or WGSL: "vt_" and the function's name.
// Printed GLSL names its kernel "main". Does not verify the function.
VECTIS_API std::string entry_point(const Function& function);
// Returns how many elements one work-item of the printed kernel computes: 1, 2 or 4, as many as a 32-bit word holds of
// the output with the smallest elements. Launch ceil(count / elements_per_item) work-items. Does not throw.
VECTIS_API std::uint32_t elements_per_item(const Function& function) noexcept;

}  // namespace vectis::inline v0_1::ir
