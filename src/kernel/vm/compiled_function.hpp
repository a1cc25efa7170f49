// An IR function compiled for the CPU vector VM, which runs it on the threads of an Executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/vm/program.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::vm {

// The caller's memory for one call of CompiledFunction::run(): one pointer or value per input, table, output and
// argument of the function, with elements packed as the function's types say. An output may be the memory of an input
// of the same element type; other overlaps are not allowed. Nothing is checked.
struct HostBuffers {
  struct Table {
    const std::byte* data = nullptr;
    std::uint64_t count = 0;  // elements, at least 1
  };
  std::vector<const std::byte*> inputs;
  std::vector<Table> tables;
  std::vector<std::byte*> outputs;
  std::span<const std::uint32_t> arguments;
};

// An IR function compiled for the CPU vector VM. Every float32 operation is rounded separately. A result depends on
// its element alone, not on the number of threads, the size of the call or the position in it. Immutable,
// thread-safe.
class CompiledFunction {
 public:
  // Compiles a function, which need not outlive this object. Requires a function that ir::verify() accepts; does not
  // check it, and throws only std::bad_alloc.
  explicit CompiledFunction(const ir::Function& function);

  // Applies the function to the elements [0, count), on the executor's threads if there are many, and returns when
  // all are computed. Requires buffers that hold `count` elements and match the function; does not check them. Throws
  // std::bad_alloc without scratch memory, and what Executor::parallel_for throws; outputs are then partly written.
  void run(Executor& executor, const HostBuffers& buffers, std::uint64_t count) const;

  [[nodiscard]] const Program& program() const noexcept { return program_; }
  // Returns the bytes of one element of each input, in order.
  [[nodiscard]] const std::vector<std::size_t>& input_sizes() const noexcept { return input_sizes_; }
  // Returns the bytes of one element of each output, in order.
  [[nodiscard]] const std::vector<std::size_t>& output_sizes() const noexcept { return output_sizes_; }

 private:
  Program program_;
  std::vector<std::size_t> input_sizes_;  // bytes of an element
  std::vector<std::size_t> output_sizes_;
};

}  // namespace vectis::inline v0_1::vm
