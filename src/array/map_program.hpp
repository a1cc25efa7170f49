// A compiled group of element-wise operations.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/element_function.hpp"
#include "kernel/vm/compiled_function.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::array {

// The structure of a group: values are the inputs, then the results of the instructions.
struct MapStructure {
  struct Input {
    DType type = DType::float32;
    bool is_uniform = false;  // one element for all
  };
  struct Instruction {
    const ElementFunction* function = nullptr;
    DType type = DType::float32;  // of the result
    std::uint32_t operands[3] = {};
  };
  std::vector<Input> inputs;
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> outputs;  // numbers of instructions

  [[nodiscard]] DType type_of(std::uint32_t value) const {
    return value < inputs.size() ? inputs[value].type : instructions[value - inputs.size()].type;
  }
};

// Compiled for the CPU: by the vector VM when the kernel IR has all types, in wide arithmetic (64 bits) otherwise.
// Immutable, thread-safe.
class MapProgram {
 public:
  explicit MapProgram(MapStructure structure);

  // Applies the program to `count` elements on the executor's threads. `inputs` are the first elements of contiguous
  // inputs and the elements of uniform ones. Throws std::bad_alloc without scratch memory.
  void run(Executor& executor, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
           std::uint64_t count) const;

 private:
  void run_narrow(Executor& executor, std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                  std::uint64_t count) const;
  void run_wide(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::uint64_t first,
                std::uint64_t count) const;

  MapStructure structure_;
  std::optional<vm::CompiledFunction> narrow_;
};

}  // namespace vectis::inline v0_1::array
