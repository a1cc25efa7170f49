#include "array/map_program.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "array/element_code.hpp"
#include "array/element_kernels.hpp"
#include "array/wide.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::size_t wide_block = 512;  // elements; the values of a block of ten operations fit into 48 KiB
constexpr std::size_t wide_grain = 16;   // blocks in a task

bool is_in_ir(const MapStructure& structure) {
  return std::ranges::all_of(structure.inputs, [](const auto& input) { return has_ir(input.type); }) &&
         std::ranges::all_of(structure.instructions, [](const auto& one) { return has_ir(one.type); });
}

// Writes a group in the kernel IR.
ir::Function lower(const MapStructure& structure) {
  ir::Builder code("map");
  std::vector<ir::Value> values;
  for (const MapStructure::Input& input : structure.inputs) {
    const ir::Value value =
        input.is_uniform ? code.argument(value_type(input.type)) : code.input(stored_type(input.type));
    values.push_back(loaded(code, value, input.type));
  }
  for (const MapStructure::Instruction& instruction : structure.instructions) {
    std::array<ir::Value, 3> operands;
    const std::size_t count = instruction.function->operands;
    for (std::size_t i = 0; i < count; ++i) operands[i] = values[instruction.operands[i]];
    values.push_back(applied(code, *instruction.function, std::span(operands).first(count), instruction.type));
  }
  for (const std::uint32_t output : structure.outputs) {
    store(code, values[structure.inputs.size() + output], structure.instructions[output].type);
  }
  return code.finish();
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
    if (compute_by_kernel(instruction, result, count)) return;
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

  // By a loop for the instruction set of the CPU. Comparisons write bytes, not wide values.
  bool compute_by_kernel(const MapStructure::Instruction& instruction, std::uint32_t result, std::size_t count) {
    const DType type = structure_.type_of(instruction.operands[0]);
    if ((type != DType::float64 && type != DType::int64) || instruction.type != type) return false;
    const ElementKernel kernel = element_kernel(instruction.function->op, type);
    if (kernel == nullptr) return false;
    std::array<KernelOperand, 3> operands;
    for (std::size_t i = 0; i < instruction.function->operands; ++i) {
      operands[i].data = reinterpret_cast<const std::byte*>(value(instruction.operands[i]));
    }
    kernel(operands.data(), reinterpret_cast<std::byte*>(value(result)), count);
    return true;
  }

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
  if (is_in_ir(structure_)) narrow_.emplace(ir::simplify(lower(structure_)));
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
