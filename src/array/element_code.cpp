#include "array/element_code.hpp"

#include <bit>

#include "array/wide.hpp"

namespace vectis::inline v0_1::array {

namespace {

ir::Value truth(ir::Builder& code, ir::Value value) { return code.binary(ir::Op::ne, value, zero(code, value.type)); }

// The lowest 8 bits, as int8 and uint8 have them.
ir::Value low_bits(ir::Builder& code, ir::Value value, DType type) {
  const ir::Value low = code.binary(ir::Op::bit_and, value, code.constant(std::int32_t{255}));
  if (type == DType::uint8) return low;
  const ir::Value sign = code.constant(std::int32_t{128});
  return code.sub(code.binary(ir::Op::bit_xor, low, sign), sign);
}

}  // namespace

DType value_type(DType type) noexcept { return is_real(type) ? DType::float32 : DType::int32; }

std::uint32_t argument_bits(DType type, const std::byte* element) {
  if (is_real(type)) {
    double value = 0;
    load_wide(type, element, 1, &value);
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  std::int64_t value = 0;
  load_wide(type, element, 1, &value);
  return static_cast<std::uint32_t>(value);
}

ir::Value zero(ir::Builder& code, DType type) {
  return is_real(type) ? code.constant(0.0F) : code.constant(std::int32_t{0});
}

ir::Value loaded(ir::Builder& code, ir::Value value, DType type) {
  if (type == DType::boolean) return truth(code, value);
  return type == DType::uint8 ? low_bits(code, value, type) : value;
}

ir::Value narrowed(ir::Builder& code, ir::Value value, DType type) {
  return type == DType::int8 || type == DType::uint8 ? low_bits(code, value, type) : value;
}

ir::Value converted(ir::Builder& code, ir::Value value, DType type) {
  if (type == DType::boolean) return value.type == DType::boolean ? value : truth(code, value);
  const DType target = value_type(type);
  return narrowed(code, value.type == target ? value : code.convert(value, target), type);
}

ir::Value applied(ir::Builder& code, const ElementFunction& function, std::span<const ir::Value> operands, DType type) {
  if (function.op == ElementOp::convert) return converted(code, operands[0], type);
  return narrowed(code, function.emit(code, operands), type);
}

void store(ir::Builder& code, ir::Value value, DType type) {
  if (type == DType::boolean) value = code.convert(value, DType::int32);
  if (type == DType::uint8) value = low_bits(code, value, DType::int8);  // the same 8 bits
  code.output(value, stored_type(type));
}

}  // namespace vectis::inline v0_1::array
