#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernel/ir/machine.hpp"
#include "kernel/ir/scalar.hpp"
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
                fmt::format("{} {} holds {} elements and needs {}; bind a longer one", what, number, has, needs));
}

void check_count(std::string_view what, std::size_t has, std::size_t needs) {
  if (has != needs)
    throw Error(ErrorCode::invalid_input, "ir.interpret",
                fmt::format("{} {} are bound, but the function has {}", has, what, needs));
}

}  // namespace

Loaded load(DType element, std::span<const std::byte> bytes, std::size_t at) noexcept {
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

Loaded Plain::apply(const Instruction& one, DType operand, const std::array<Loaded, 3>& operands) noexcept {
  const auto& [a, b, c] = operands;
  const bool from_real = operand == DType::float32;
  if (one.op == Op::select) return a.bits != 0 ? b : c;
  if (one.op == Op::bitcast) {
    if (one.type == operand) return a;
    const std::uint32_t bits = from_real ? std::bit_cast<std::uint32_t>(static_cast<float>(a.real)) : a.bits;
    return {one.type == DType::float32 ? static_cast<double>(std::bit_cast<float>(bits)) : 0, bits};
  }
  if (one.op == Op::convert) {
    if (one.type == operand) return a;
    if (one.type == DType::float32) return {whole_to_real(a.bits, operand), 0};
    return {0, from_real ? real_to_whole(a.real, one.type) : whole_to_whole(a.bits, one.type)};
  }
  if (!from_real) return {0, whole_op(one.op, operand, a.bits, b.bits)};
  if (one.type == DType::boolean) return {0, compare_reals(one.op, a.real, b.real) ? 1U : 0U};
  return {real_op(one.op, a.real, b.real, c.real), 0};
}

std::vector<std::vector<double>> interpret(const Function& function, const Bindings& bindings, std::size_t count) {
  check_bindings(function, bindings, count);
  Machine<Plain> machine(function, bindings);
  std::vector<std::vector<double>> results(function.outputs.size(), std::vector<double>(count));
  for (std::size_t element = 0; element < count; ++element) {
    const auto values = machine.run(element);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const DType type = loaded_type(function.outputs[i].element);
      results[i][element] = type == DType::float32 ? values[i].real : whole_to_real(values[i].bits, type);
    }
  }
  return results;
}

}  // namespace vectis::inline v0_1::ir
