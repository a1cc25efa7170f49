#include "kernel/ir/interpreter.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernel/ir/scalar_ops.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

template <class Bits>
Bits bits_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  Bits bits{};
  std::memcpy(&bits, bytes.data() + at * sizeof(Bits), sizeof(Bits));
  return bits;
}

void check_size(std::string_view what, std::size_t number, std::size_t has, std::size_t needs) {
  if (has < needs)
    throw Error(ErrorCode::invalid_input, "ir.interpret",
                fmt::format("{} {} holds {} elements, but {} are read; bind a longer one", what, number, has, needs));
}

void check_count(std::string_view what, std::size_t has, std::size_t needs) {
  if (has != needs)
    throw Error(ErrorCode::invalid_input, "ir.interpret",
                fmt::format("{} {} are bound, but the function has {}; bind each of them", has, what, needs));
}

}  // namespace

ScalarValue load(DType element, std::span<const std::byte> bytes, std::size_t at) noexcept {
  switch (element) {
    case DType::float32:
      return {static_cast<double>(bits_at<float>(bytes, at)), 0};
    case DType::float16:
      return {static_cast<double>(to_float(Half{bits_at<std::uint16_t>(bytes, at)})), 0};
    case DType::bfloat16:
      return {static_cast<double>(to_float(Bfloat16{bits_at<std::uint16_t>(bytes, at)})), 0};
    case DType::int8:
      return {0, static_cast<std::uint32_t>(static_cast<std::int32_t>(bits_at<std::int8_t>(bytes, at)))};
    default:
      return {0, bits_at<std::uint32_t>(bytes, at)};
  }
}

std::size_t element_count(DType element, std::span<const std::byte> bytes) noexcept {
  return bytes.size() / 4 * lanes(element) + bytes.size() % 4 * lanes(element) / 4;
}

void check_bindings(const Function& function, const Bindings& bindings, std::size_t count) {
  verify(function);
  check_count("inputs", bindings.inputs.size(), function.inputs.size());
  check_count("tables", bindings.tables.size(), function.tables.size());
  check_count("arguments", bindings.arguments.size(), function.arguments.size());
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    check_size("input", i, element_count(function.inputs[i], bindings.inputs[i]), count);
  for (std::size_t i = 0; i < function.tables.size(); ++i)
    check_size("table", i, element_count(function.tables[i], bindings.tables[i]), 1);
}

ScalarValue DoubleDomain::apply(const Instruction& inst, DType operand,
                                const std::array<ScalarValue, 3>& operands) noexcept {
  const auto& [a, b, c] = operands;
  const bool from_real = operand == DType::float32;
  if (inst.op == Op::select) return a.bits != 0 ? b : c;
  if (inst.op == Op::bitcast) {
    if (inst.type == operand) return a;
    const std::uint32_t bits = from_real ? std::bit_cast<std::uint32_t>(static_cast<float>(a.real)) : a.bits;
    return {inst.type == DType::float32 ? static_cast<double>(std::bit_cast<float>(bits)) : 0, bits};
  }
  if (inst.op == Op::convert) {
    if (inst.type == operand) return a;
    if (inst.type == DType::float32) return {integer_to_float(a.bits, operand), 0};
    return {0, from_real ? float_to_integer(a.real, inst.type) : integer_to_integer(a.bits, inst.type)};
  }
  if (!from_real) return {0, integer_op(inst.op, operand, a.bits, b.bits)};
  if (inst.type == DType::boolean) return {0, compare_floats(inst.op, a.real, b.real) ? 1U : 0U};
  return {float_op(inst.op, a.real, b.real, c.real), 0};
}

std::vector<std::vector<double>> interpret(const Function& function, const Bindings& bindings, std::size_t count) {
  check_bindings(function, bindings, count);
  Interpreter<DoubleDomain> interpreter(function, bindings);
  std::vector<std::vector<double>> results(function.outputs.size(), std::vector<double>(count));
  for (std::size_t element = 0; element < count; ++element) {
    const auto values = interpreter.run(element);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const DType type = loaded_type(function.outputs[i].element);
      results[i][element] = type == DType::float32 ? values[i].real : integer_to_float(values[i].bits, type);
    }
  }
  return results;
}

}  // namespace vectis::inline v0_1::ir
