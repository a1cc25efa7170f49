#include "array/map_program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "array/wide.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::size_t wide_block = 512;  // elements; the values of a block of ten operations fit into 48 KiB
constexpr std::size_t wide_grain = 16;   // blocks in a task

bool has_ir(DType type) { return type != DType::float64 && type != DType::int64; }

bool is_in_ir(const MapStructure& structure) {
  return std::ranges::all_of(structure.inputs, [](const auto& input) { return has_ir(input.type); }) &&
         std::ranges::all_of(structure.instructions, [](const auto& one) { return has_ir(one.type); });
}

// The type of a buffer in the kernel IR: bool and uint8 are stored as int8.
DType stored_type(DType type) { return type == DType::boolean || type == DType::uint8 ? DType::int8 : type; }

// Writes a group in the kernel IR.
class Lowering {
 public:
  explicit Lowering(const MapStructure& structure) : structure_(structure) {
    for (const MapStructure::Input& input : structure.inputs) values_.push_back(load(input));
    for (const MapStructure::Instruction& instruction : structure.instructions) values_.push_back(lower(instruction));
    for (const std::uint32_t output : structure.outputs) store(output);
  }
  ir::Function finish() { return builder_.finish(); }

 private:
  ir::Value integer(std::int32_t value) { return builder_.constant(value); }
  ir::Value truth(ir::Value value) {
    const ir::Value zero = value.type == DType::float32 ? builder_.constant(0.0F) : integer(0);
    return builder_.binary(ir::Op::ne, value, zero);
  }
  // The lowest 8 bits, as int8 and uint8 have them.
  ir::Value wrapped(ir::Value value, DType type) {
    const ir::Value low = builder_.binary(ir::Op::bit_and, value, integer(255));
    if (type == DType::uint8) return low;
    return builder_.sub(builder_.binary(ir::Op::bit_xor, low, integer(128)), integer(128));
  }
  ir::Value narrowed(ir::Value value, DType type) {
    return type == DType::int8 || type == DType::uint8 ? wrapped(value, type) : value;
  }

  ir::Value load(const MapStructure::Input& input) {
    if (input.is_uniform) {
      const ir::Value value = builder_.argument(is_real(input.type) ? DType::float32 : DType::int32);
      return input.type == DType::boolean ? truth(value) : value;
    }
    const ir::Value value = builder_.input(stored_type(input.type));
    if (input.type == DType::boolean) return truth(value);
    return narrowed(value, input.type == DType::uint8 ? DType::uint8 : DType::float32);
  }

  ir::Value lower(const MapStructure::Instruction& instruction) {
    std::array<ir::Value, 3> operands;
    const std::size_t count = instruction.function->operands;
    for (std::size_t i = 0; i < count; ++i) operands[i] = values_[instruction.operands[i]];
    if (instruction.function->op == ElementOp::convert) return converted(operands[0], instruction.type);
    return narrowed(instruction.function->emit(builder_, std::span(operands).first(count)), instruction.type);
  }

  ir::Value converted(ir::Value value, DType type) {
    if (type == DType::boolean) return value.type == DType::boolean ? value : truth(value);
    const DType target = is_real(type) ? DType::float32 : DType::int32;
    return narrowed(value.type == target ? value : builder_.convert(value, target), type);
  }

  void store(std::uint32_t output) {
    const DType type = structure_.instructions[output].type;
    ir::Value value = values_[structure_.inputs.size() + output];
    if (type == DType::boolean) value = builder_.convert(value, DType::int32);
    if (type == DType::uint8) value = wrapped(value, DType::int8);  // the same 8 bits
    builder_.output(value, stored_type(type));
  }

  const MapStructure& structure_;
  ir::Builder builder_{"map"};
  std::vector<ir::Value> values_;
};

// The bits of a uniform input as an argument of the kernel IR.
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

// One block of wide values: the results of all instructions.
class WideBlock {
 public:
  explicit WideBlock(const MapStructure& structure)
      : structure_(structure), memory_((structure.inputs.size() + structure.instructions.size()) * wide_block) {}

  void load(std::uint32_t input, const std::byte* from, std::size_t count) {
    const DType type = structure_.inputs[input].type;
    if (is_real(type)) {
      load_wide(type, from, count, reals(input));
    } else {
      load_wide(type, from, count, integers(input));
    }
  }
  void fill(std::uint32_t input, const std::byte* element) {
    load(input, element, 1);
    std::fill_n(&value(input)[1], wide_block - 1, value(input)[0]);
  }
  void compute(std::uint32_t number, std::size_t count) {
    const MapStructure::Instruction& instruction = structure_.instructions[number];
    const auto result = static_cast<std::uint32_t>(structure_.inputs.size() + number);
    if (instruction.function->op == ElementOp::convert) return convert(instruction, result, count);
    if (instruction.function->op == ElementOp::where) return select(instruction, result, count);
    const bool of_reals = is_real(structure_.type_of(instruction.operands[0]));
    std::array<const double*, 3> real_operands{};
    std::array<const std::int64_t*, 3> integer_operands{};
    for (std::size_t i = 0; i < instruction.function->operands; ++i) {
      real_operands[i] = reals(instruction.operands[i]);
      integer_operands[i] = integers(instruction.operands[i]);
    }
    if (is_real(instruction.type)) {
      instruction.function->real(real_operands.data(), reals(result), count);
      narrow(instruction.type, reals(result), count);
    } else if (of_reals) {
      instruction.function->compare(real_operands.data(), integers(result), count);
    } else {
      instruction.function->integer(integer_operands.data(), integers(result), count);
      narrow(instruction.type, integers(result), count);
    }
  }
  void store(std::uint32_t output, std::size_t count, std::byte* to) {
    const DType type = structure_.instructions[output].type;
    const auto from = static_cast<std::uint32_t>(structure_.inputs.size() + output);
    if (is_real(type)) {
      store_wide(type, reals(from), count, to);
    } else {
      store_wide(type, integers(from), count, to);
    }
  }

 private:
  std::uint64_t* value(std::uint32_t number) { return &memory_[number * wide_block]; }
  double* reals(std::uint32_t number) { return reinterpret_cast<double*>(value(number)); }
  std::int64_t* integers(std::uint32_t number) { return reinterpret_cast<std::int64_t*>(value(number)); }

  void select(const MapStructure::Instruction& instruction, std::uint32_t result, std::size_t count) {
    const std::int64_t* const condition = integers(instruction.operands[0]);
    const std::uint64_t* const yes = value(instruction.operands[1]);
    const std::uint64_t* const no = value(instruction.operands[2]);
    std::uint64_t* const out = value(result);
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? yes[i] : no[i];
  }

  void convert(const MapStructure::Instruction& instruction, std::uint32_t result, std::size_t count) {
    const std::uint32_t operand = instruction.operands[0];
    const bool from_real = is_real(structure_.type_of(operand));
    if (is_real(instruction.type)) {
      double* const out = reals(result);
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = from_real ? reals(operand)[i] : static_cast<double>(integers(operand)[i]);
      }
      return narrow(instruction.type, out, count);
    }
    std::int64_t* const out = integers(result);
    for (std::size_t i = 0; i < count; ++i) {
      if (instruction.type == DType::boolean) {
        out[i] = from_real ? std::int64_t{reals(operand)[i] != 0} : std::int64_t{integers(operand)[i] != 0};
      } else {
        out[i] = from_real ? truncated(instruction.type, reals(operand)[i]) : integers(operand)[i];
      }
    }
    narrow(instruction.type, out, count);
  }

  const MapStructure& structure_;
  std::vector<std::uint64_t> memory_;  // a block of doubles or 64-bit integers for each value
};

}  // namespace

MapProgram::MapProgram(MapStructure structure) : structure_(std::move(structure)) {
  if (is_in_ir(structure_)) narrow_.emplace(ir::simplify(Lowering(structure_).finish()));
}

void MapProgram::run(Executor& executor, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                     std::uint64_t count) const {
  if (narrow_) return run_narrow(executor, inputs, outputs, count);
  const std::size_t blocks = (count + wide_block - 1) / wide_block;
  const auto run_blocks = [&](std::size_t begin, std::size_t end) {
    const std::uint64_t first = begin * wide_block;
    run_wide(inputs, outputs, first, std::min<std::uint64_t>(count, end * wide_block) - first);
  };
  if (blocks <= wide_grain) return run_blocks(0, blocks);
  executor.parallel_for(blocks, wide_grain, run_blocks);
}

void MapProgram::run_narrow(Executor& executor, std::span<const std::byte* const> inputs,
                            std::span<std::byte* const> outputs, std::uint64_t count) const {
  vm::HostBuffers buffers;
  std::vector<std::uint32_t> arguments;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (structure_.inputs[i].is_uniform) {
      arguments.push_back(argument_bits(structure_.inputs[i].type, inputs[i]));
    } else {
      buffers.inputs.push_back(inputs[i]);
    }
  }
  buffers.outputs.assign(outputs.begin(), outputs.end());
  buffers.arguments = arguments;
  narrow_->run(executor, buffers, count);
}

void MapProgram::run_wide(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                          std::uint64_t first, std::uint64_t count) const {
  WideBlock block(structure_);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    if (structure_.inputs[i].is_uniform) block.fill(i, inputs[i]);
  }
  for (std::uint64_t done = 0; done < count; done += wide_block) {
    const std::size_t elements = std::min<std::uint64_t>(wide_block, count - done);
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      if (structure_.inputs[i].is_uniform) continue;
      block.load(i, inputs[i] + (first + done) * size_of(structure_.inputs[i].type), elements);
    }
    for (std::uint32_t i = 0; i < structure_.instructions.size(); ++i) block.compute(i, elements);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::uint32_t output = structure_.outputs[o];
      block.store(output, elements, outputs[o] + (first + done) * size_of(structure_.instructions[output].type));
    }
  }
}

}  // namespace vectis::inline v0_1::array
