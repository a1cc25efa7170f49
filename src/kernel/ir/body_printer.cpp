#include "kernel/ir/body_printer.hpp"

#include <fmt/format.h>

#include "kernel/ir/opcodes.hpp"

namespace vectis::inline v0_1::ir {

namespace {

std::string_view infix(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    case Op::lt:
      return "<";
    case Op::le:
      return "<=";
    case Op::gt:
      return ">";
    case Op::ge:
      return ">=";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::shl:
      return "<<";
    default:
      return ">>";
  }
}

bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }

}  // namespace

std::string BodyPrinter::value(Id id) { return fmt::format("v{}", id); }

std::string BodyPrinter::helper(std::string_view name, std::string_view arguments) {
  helpers_.insert(name);
  return fmt::format("{}({})", name, arguments);
}

std::string BodyPrinter::body(std::size_t indent) {
  std::string text;
  block(function_.body, indent, text);
  return text;
}

void BodyPrinter::block(const Block& block, std::size_t indent, std::string& text) {
  for (const Id id : block) {
    const Instruction& inst = at(id);
    if (inst.op == Op::loop) {
      loop(inst, indent, text);
    } else {
      text += fmt::format("{:{}}{} = {};\n", "", indent, spelling_.declare(inst.type, value(id)), expression(inst));
    }
  }
}

// Carried values are assigned after all next values are computed.
void BodyPrinter::loop(const Instruction& instruction, std::size_t indent, std::string& text) {
  const std::uint32_t number = instruction.immediate;
  const Loop& loop = function_.loops[number];
  for (std::size_t k = 0; k < loop.initial.size(); ++k) {
    const std::string name = fmt::format("c{}_{}", number, k);
    text += fmt::format("{:{}}{} = {};\n", "", indent, spelling_.declare(type_of(loop.initial[k]), name, true),
                        value(loop.initial[k]));
  }
  const std::string counter = fmt::format("i{}", number);
  text += fmt::format("{:{}}for ({} = 0u; {} < {}; {}++) {{\n", "", indent,
                      spelling_.declare(DType::uint32, counter, true), counter, value(loop.trip_count), counter);
  block(loop.body, indent + 2, text);
  for (std::size_t k = 0; k < loop.next.size(); ++k) {
    const std::string name = fmt::format("n{}_{}", number, k);
    text += fmt::format("{:{}}{} = {};\n", "", indent + 2, spelling_.declare(type_of(loop.next[k]), name),
                        value(loop.next[k]));
  }
  for (std::size_t k = 0; k < loop.next.size(); ++k)
    text += fmt::format("{:{}}c{}_{} = n{}_{};\n", "", indent + 2, number, k, number, k);
  text += fmt::format("{:{}}}}\n", "", indent);
}

std::string BodyPrinter::expression(const Instruction& inst) {
  const std::string a = value(inst.operands[0]);
  const std::string b = value(inst.operands[1]);
  const std::string c = value(inst.operands[2]);
  switch (inst.op) {
    case Op::constant:
      return spelling_.constant(inst.type, inst.immediate);
    case Op::input:
      return load(fmt::format("in{}", inst.immediate), function_.inputs[inst.immediate], "i");
    case Op::argument:
      return fmt::format("p{}", inst.immediate);
    case Op::index:
      return "i";
    case Op::fma:
      return fmt::format("{}({}, {}, {})", spelling_.function(Op::fma), a, b, c);
    case Op::select:
      return spelling_.choose(a, b, c);
    case Op::convert:
      return conversion(inst, a);
    case Op::bitcast:
      return spelling_.as(type_of(inst.operands[0]), inst.type, a);
    case Op::gather: {
      const std::string last = fmt::format("(size{} - 1u)", inst.immediate);
      const std::string index = spelling_.choose(fmt::format("({} < {})", a, last), a, last);
      return load(fmt::format("table{}", inst.immediate), function_.tables[inst.immediate], index);
    }
    case Op::random:
      return helper("vti_random", fmt::format("{}, {}", a, b));
    case Op::result:
    case Op::carried:
      return fmt::format("c{}_{}", at(inst.operands[0]).immediate, inst.immediate);
    case Op::iteration:
      return fmt::format("i{}", at(inst.operands[0]).immediate);
    default:
      break;
  }
  if (is_comparison(inst.op)) return comparison(inst, a, b);
  if (inst.op >= Op::bit_and && inst.op <= Op::leading_zeros) return bits(inst, a, b);
  return inst.type == DType::float32 ? arithmetic(inst, a, b) : integer(inst, a, b);
}

std::vector<bool> BodyPrinter::known_values(const Function& function) {
  std::vector<bool> known(function.instructions.size());
  for (Id id = 0; id < known.size(); ++id) {
    const Instruction& inst = function.instructions[id];
    bool all = inst.op == Op::constant || op_class(inst.op) == OpClass::plain || op_class(inst.op) == OpClass::typed;
    for (std::size_t i = 0; i < operand_count(inst.op); ++i)
      all = all && inst.operands[i] < id && known[inst.operands[i]];
    known[id] = all;
  }
  return known;
}

// f32.
std::string BodyPrinter::arithmetic(const Instruction& inst, std::string_view a, std::string_view b) {
  const bool two = operand_count(inst.op) == 2;
  const std::string operands = two ? fmt::format("{}, {}", a, b) : std::string(a);
  if (inst.op == Op::atan && !spelling_.ordered) return helper("vti_atan", operands);
  if (const std::string_view function = spelling_.function(inst.op); !function.empty()) {
    const std::string call = fmt::format("{}({})", function, operands);
    // PoCL's compiler miscompiles the integer conversions inside these functions for an operand it knows to be NaN, so
    // that case is printed explicitly.
    const bool guarded = spelling_.dialect == Dialect::opencl_c && !two && known_[inst.operands[0]];
    return guarded ? spelling_.choose(fmt::format("isnan({})", a), a, call) : call;
  }
  switch (inst.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
      return fmt::format("{} {} {}", a, infix(inst.op), b);
    case Op::neg:
      return fmt::format("-{}", a);
    case Op::min:
      return helper("vti_min", operands);
    case Op::max:
      return helper("vti_max", operands);
    case Op::rem:
      return helper("vti_rem", operands);
    case Op::tanh:
      return helper("vti_tanh", operands);
    case Op::pow:
      return helper("vti_pow", operands);
    case Op::atan2:
      return helper("vti_atan2", operands);
    case Op::erf:
      return helper("vti_erf", operands);
    default:
      return helper("vti_sign", operands);
  }
}

// i32 and u32. Signed sums and products go through uint, where wrapping is defined in every dialect.
std::string BodyPrinter::integer(const Instruction& inst, std::string_view a, std::string_view b) {
  const bool is_signed = inst.type == DType::int32;
  const std::string ua = spelling_.as(inst.type, DType::uint32, a);
  const std::string ub = spelling_.as(inst.type, DType::uint32, b);
  std::string negative = spelling_.as(DType::uint32, inst.type, fmt::format("0u - {}", ua));
  const std::string operands = fmt::format("{}, {}", a, b);
  switch (inst.op) {
    case Op::div:
      return helper(is_signed ? "vti_div_i32" : "vti_div_u32", operands);
    case Op::rem:
      return helper(is_signed ? "vti_rem_i32" : "vti_rem_u32", operands);
    case Op::min:
      return spelling_.choose(fmt::format("({} < {})", a, b), a, b);
    case Op::max:
      return spelling_.choose(fmt::format("({} > {})", a, b), a, b);
    case Op::neg:
      return negative;
    case Op::abs:
      return is_signed ? spelling_.choose(fmt::format("({} < 0)", a), negative, a) : std::string(a);
    default:
      return spelling_.as(DType::uint32, inst.type, fmt::format("{} {} {}", ua, infix(inst.op), ub));
  }
}

std::string BodyPrinter::comparison(const Instruction& inst, std::string_view a, std::string_view b) {
  std::string plain = fmt::format("{} {} {}", a, infix(inst.op), b);
  if (spelling_.ordered || type_of(inst.operands[0]) != DType::float32) return plain;
  const std::string nan_a = helper("vti_nan", a);
  const std::string nan_b = helper("vti_nan", b);
  if (inst.op == Op::ne) return fmt::format("{} || {} || ({})", nan_a, nan_b, plain);
  return fmt::format("!{} && !{} && ({})", nan_a, nan_b, plain);
}

std::string BodyPrinter::bits(const Instruction& inst, std::string_view a, std::string_view b) {
  const std::string ua = inst.type == DType::boolean ? "" : spelling_.as(inst.type, DType::uint32, a);
  switch (inst.op) {
    case Op::bit_not:
      return fmt::format("{}{}", inst.type == DType::boolean ? "!" : "~", a);
    case Op::shl:
    case Op::shr: {
      const std::string count = fmt::format("({} & 31u)", spelling_.as(inst.type, DType::uint32, b));
      if (inst.op == Op::shr) return fmt::format("{} >> {}", a, count);
      return spelling_.as(DType::uint32, inst.type, fmt::format("{} << {}", ua, count));
    }
    case Op::popcount:
    case Op::leading_zeros:
      return spelling_.as(DType::uint32, inst.type,
                          fmt::format("{}({}({}))", spelling_.cast(DType::uint32), spelling_.function(inst.op), ua));
    default:
      if (inst.type != DType::boolean) return fmt::format("{} {} {}", a, infix(inst.op), b);
      return fmt::format("{} {} {}", a, inst.op == Op::bit_and ? "&&" : inst.op == Op::bit_or ? "||" : "!=", b);
  }
}

std::string BodyPrinter::conversion(const Instruction& inst, std::string_view a) {
  const DType from = type_of(inst.operands[0]);
  if (from == inst.type) return std::string(a);
  if (from == DType::boolean) {
    const std::uint32_t unit = inst.type == DType::float32 ? 0x3f800000U : 1U;
    return spelling_.choose(a, spelling_.constant(inst.type, unit), spelling_.constant(inst.type, 0));
  }
  if (inst.type == DType::boolean) {
    if (from != DType::float32) return fmt::format("{} != {}", a, spelling_.constant(from, 0));
    return fmt::format("({} & 0x7fffffffu) != 0u", spelling_.as(DType::float32, DType::uint32, a));
  }
  if (from == DType::float32) return helper(inst.type == DType::int32 ? "vti_f32_to_i32" : "vti_f32_to_u32", a);
  if (inst.type == DType::float32) return fmt::format("{}({})", spelling_.cast(DType::float32), a);
  return spelling_.as(from, inst.type, a);
}

std::string BodyPrinter::load(std::string_view buffer, DType element, std::string_view index) {
  const auto lane = [&](std::uint32_t shift, std::uint32_t width) {
    return fmt::format("({}[{} >> {}u] >> (({} & {}u) * {}u))", buffer, index, shift, index, (1U << shift) - 1, width);
  };
  switch (element) {
    case DType::float16:
      return helper("vti_from_f16", fmt::format("{} & 0xffffu", lane(1, 16)));
    case DType::bfloat16:
      return spelling_.as(DType::uint32, DType::float32, fmt::format("{} << 16u", lane(1, 16)));
    case DType::int8:
      return fmt::format("{} >> 24u", spelling_.as(DType::uint32, DType::int32, fmt::format("{} << 24u", lane(2, 8))));
    default:
      return fmt::format("{}[{}]", buffer, index);
  }
}

std::string BodyPrinter::stored(const Output& output) {
  std::string element = value(output.value);
  switch (output.element) {
    case DType::float16:
      return helper("vti_to_f16", element);
    case DType::bfloat16:
      return helper("vti_to_bf16", element);
    case DType::int8:
      return helper("vti_to_i8", element);
    default:
      return element;
  }
}

}  // namespace vectis::inline v0_1::ir
