// An IR function ready to run on the host's threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/vm/plan.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::executor {

// The caller's memory, packed as the function says. An output may be an input of the same element type; nothing else
// overlaps.
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

// Every f32 operation is rounded on its own; a result depends on its element alone, not on the number of threads, the
// size of the call or the place in it. Immutable, thread-safe.
class CompiledFunction {
 public:
  explicit CompiledFunction(const ir::Function& function);

  // Applies the function to the elements [0, count) and returns when all are done.
  void run(Executor& executor, const HostBuffers& buffers, std::uint64_t count) const;

  // Elements computed together.
  [[nodiscard]] std::size_t block() const noexcept { return plan_.block; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const std::vector<std::size_t>& input_sizes() const noexcept { return input_sizes_; }
  [[nodiscard]] const std::vector<std::size_t>& output_sizes() const noexcept { return output_sizes_; }

 private:
  Plan plan_;
  std::vector<std::size_t> input_sizes_;  // bytes of an element
  std::vector<std::size_t> output_sizes_;
};

}  // namespace vectis::inline v0_1::executor
