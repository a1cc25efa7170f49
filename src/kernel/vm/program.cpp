#include "kernel/vm/program.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kernel/vm/lowering.hpp"

namespace vectis::inline v0_1::vm {

namespace {

constexpr std::size_t block_max = 2048;
constexpr std::size_t block_min = 2 * lanes_max;
constexpr std::size_t block_bytes = 24 << 10;  // half of a usual L1 cache; the rest holds tables and code

// Linear-scan register allocation (Poletto and Sarkar, 1999): assigns vector registers by live ranges.
class RegisterAllocator {
 public:
  explicit RegisterAllocator(LoweredProgram program) : program_(std::move(program)) {}

  Program run() {
    find_live_ranges();
    coalesce_stores();
    assign_registers();
    Program result;
    result.uniform_values = program_.uniform_values;
    for (const LoweredInstruction& one : program_.prologue) result.prologue.push_back(located(one));
    for (const LoweredInstruction& one : program_.body) result.body.push_back(located(one));
    mark_unread_results(result);
    result.registers = registers_;
    result.uniforms = program_.uniforms;
    return result;
  }

 private:
  struct LiveRange {
    std::size_t first = SIZE_MAX;
    std::size_t last = 0;
    std::size_t writers = 0;
  };

  // A value defined before a loop and used in it lives until the loop ends, since the next iteration uses it again.
  void find_live_ranges() {
    ranges_.resize(program_.locations.size());
    std::vector<std::size_t> open;  // loops around the instruction
    for (std::size_t i = 0; i < program_.body.size(); ++i) {
      const LoweredInstruction& one = program_.body[i];
      std::erase_if(open, [&](std::size_t loop) { return program_.body[loop].end <= i; });
      for (const VirtualRegister operand : one.in) {
        if (operand == no_register) continue;
        LiveRange& range = ranges_[operand];
        const auto around = std::ranges::find_if(open, [&](std::size_t loop) { return range.first < loop; });
        range.last = std::max(range.last, around == open.end() ? i : program_.body[*around].end - 1);
      }
      if (one.kernel == nullptr) open.push_back(i);
      if (one.out == no_register) continue;
      LiveRange& range = ranges_[one.out];
      range.first = std::min(range.first, i);
      range.last = std::max(range.last, i);
      ++range.writers;
    }
  }

  // Computes a value that is only stored directly into the output. Not where an input is read later, since the output
  // may share its memory, and not inside a loop, which would write the output several times.
  void coalesce_stores() {
    std::size_t last_input_read = 0;
    for (std::size_t i = 0; i < program_.body.size(); ++i) {
      for (const VirtualRegister operand : program_.body[i].in) {
        if (operand != no_register && kind(operand) == Location::Kind::input) last_input_read = i;
      }
    }
    const std::vector<bool> in_loop = instructions_in_loops();
    for (LoweredInstruction& store : program_.body) {
      if (store.out == no_register || kind(store.out) != Location::Kind::output) continue;
      const VirtualRegister value = store.in[0];
      const LiveRange& range = ranges_[value];
      const bool unpacked = store.kernel == store_kernel(DType::uint32);
      if (!unpacked || kind(value) != Location::Kind::unassigned || range.writers != 1) continue;
      if (range.first < last_input_read || in_loop[range.first]) continue;
      program_.locations[value] = program_.locations[store.out];
      store.out = no_register;
      store.in.clear();
    }
    // Stores are the last instructions, so removing some moves no loop and no live range.
    std::erase_if(program_.body,
                  [](const LoweredInstruction& one) { return one.kernel != nullptr && one.out == no_register; });
  }

  // Of each instruction: whether a loop contains it.
  [[nodiscard]] std::vector<bool> instructions_in_loops() const {
    std::vector<bool> result(program_.body.size());
    std::size_t end = 0;  // of the loops so far
    for (std::size_t i = 0; i < program_.body.size(); ++i) {
      result[i] = i < end;
      if (program_.body[i].kernel == nullptr) end = std::max(end, program_.body[i].end);
    }
    return result;
  }

  void assign_registers() {
    std::vector<std::uint32_t> free;
    std::vector<std::vector<std::uint32_t>> freed(program_.body.size());  // registers, by the end of their live range
    for (std::size_t i = 0; i < program_.body.size(); ++i) {
      // A register whose live range ends here can hold the result: kernels may overwrite their operands.
      free.insert(free.end(), freed[i].begin(), freed[i].end());
      const VirtualRegister out = program_.body[i].out;
      if (out == no_register || kind(out) != Location::Kind::unassigned) continue;
      if (free.empty()) free.push_back(registers_++);
      program_.locations[out] = {Location::Kind::vector, free.back()};
      const std::size_t end = std::max(ranges_[out].last, i + 1);  // later than here, if the value is never read
      if (end < freed.size()) freed[end].push_back(free.back());
      free.pop_back();
    }
  }

  static void mark_unread_results(Program& program) {
    std::set<std::pair<Location::Kind, std::uint32_t>> read;
    for (const VectorInstruction& one : program.body) {
      for (const Location& location : one.in) read.emplace(location.kind, location.number);
    }
    for (VectorInstruction& one : program.body) {
      one.result_unread = !read.contains({one.out.kind, one.out.number});
    }
  }
  [[nodiscard]] Location::Kind kind(VirtualRegister value) const { return program_.locations[value].kind; }
  [[nodiscard]] Location location(VirtualRegister value) const {
    return value == no_register ? Location{} : program_.locations[value];
  }
  [[nodiscard]] VectorInstruction located(const LoweredInstruction& one) const {
    VectorInstruction result{one.kernel, location(one.out), {}, one.op, one.table, one.end, one.fused, false};
    for (const VirtualRegister operand : one.in) result.in.push_back(location(operand));
    return result;
  }

  LoweredProgram program_;
  std::vector<LiveRange> ranges_;  // of each virtual register
  std::uint32_t registers_ = 0;
};

}  // namespace

Program compile(const ir::Function& function) {
  LoweredProgram lowered = lower(function);
  fuse_chains(lowered);
  Program program = RegisterAllocator(std::move(lowered)).run();
  const std::size_t arrays = program.registers + function.inputs.size() + function.outputs.size();
  program.block = block_max;
  while (program.block > block_min && program.block * 4 * arrays > block_bytes) program.block /= 2;
  return program;
}

}  // namespace vectis::inline v0_1::vm
