#include "kernel/vm/compiled_function.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::vm {

namespace {

constexpr std::size_t alignment = lanes_max * sizeof(std::uint32_t);
// A task of fewer elements costs less than waking a thread.
constexpr std::size_t elements_per_task_min = 16384;
// An output of this size is evicted from the caches before it is read again, so non-temporal stores write it to memory
// without reading its cache lines first.
constexpr std::uint64_t nontemporal_bytes_min = 32 << 20;

struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{alignment}); }
};

// The execution state of one thread: scratch memory, and the operands of all instructions resolved to addresses.
class ThreadState {
 public:
  ThreadState(const CompiledFunction& function, const HostBuffers& buffers, std::uint64_t count)
      : function_(function),
        program_(function.program()),
        buffers_(buffers),
        count_(count),
        nontemporal_(count * sizeof(std::uint32_t) >= nontemporal_bytes_min) {
    // A short call needs less scratch memory than a whole block.
    const std::uint64_t padded =
        (std::min<std::uint64_t>(count, program_.block) + lanes_max - 1) / lanes_max * lanes_max;
    register_bytes_ = padded * sizeof(std::uint32_t);
    const std::size_t buffers_in_tail = buffers.inputs.size() + buffers.outputs.size();
    const std::size_t bytes = program_.uniforms * alignment + (program_.registers + buffers_in_tail) * register_bytes_;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment})));
    registers_ = memory_.get() + program_.uniforms * alignment;
    tail_ = registers_ + program_.registers * register_bytes_;
    for (const UniformValue& init : program_.uniform_values)
      fill(uniform(init.uniform), init.is_argument ? buffers.arguments[init.value] : init.value);
    for (const VectorInstruction& instruction : program_.prologue) {
      std::vector<FusedOp> none;
      instruction.kernel(resolve(instruction, none), lanes_max);
    }
    for (const std::byte* output : buffers.outputs)
      nontemporal_ = nontemporal_ && std::ranges::find(buffers.inputs, output) == buffers.inputs.end();
    fused_.resize(program_.body.size());
    for (const VectorInstruction& instruction : program_.body)
      args_.push_back(resolve(instruction, fused_[args_.size()]));
  }

  void run(std::uint64_t first_block, std::uint64_t last_block) {
    run_blocks(first_block, last_block);
    if (nontemporal_) hwy::FlushStream();
  }

 private:
  void run_blocks(std::uint64_t first_block, std::uint64_t last_block) {
    for (std::uint64_t block = first_block; block < last_block; ++block) {
      const std::uint64_t first = block * program_.block;
      const std::size_t count = std::min<std::uint64_t>(program_.block, count_ - first);
      if (count % lanes_max == 0) {
        relocate_to(first);
        run_instructions(0, args_.size(), count);
      } else {
        run_tail(first, count);
      }
    }
  }

  // An operand in the caller's memory, whose address changes from block to block.
  struct Relocation {
    std::size_t instruction;
    std::size_t operand;  // or `result`
    Location location;
  };

  static constexpr std::size_t result = SIZE_MAX;

  std::uint32_t* uniform(std::uint32_t number) const {
    return reinterpret_cast<std::uint32_t*>(memory_.get() + number * alignment);
  }
  static void fill(std::uint32_t* uniform, std::uint32_t value) { std::fill_n(uniform, lanes_max, value); }

  // Null for the caller's memory.
  std::byte* address(Location location) const {
    if (location.kind == Location::Kind::vector) return registers_ + location.number * register_bytes_;
    if (location.kind == Location::Kind::uniform) return reinterpret_cast<std::byte*>(uniform(location.number));
    return nullptr;
  }

  void add_relocation(std::size_t operand, Location location) {
    if (location.kind == Location::Kind::input || location.kind == Location::Kind::output)
      relocations_.push_back({args_.size(), operand, location});
  }

  KernelArgs resolve(const VectorInstruction& instruction, std::vector<FusedOp>& fused) {
    KernelArgs args;
    for (const FusedOpcode& opcode : instruction.fused) fused.push_back({opcode.op, opcode.form});
    for (std::size_t i = 0; i < instruction.in.size(); ++i) {
      const std::byte* const at = address(instruction.in[i]);
      const Location::Kind kind = instruction.in[i].kind;
      const std::size_t stride = kind == Location::Kind::uniform || kind == Location::Kind::unassigned ? 0 : 1;
      if (i > 0 && !fused.empty()) {
        fused[i - 1].operand = reinterpret_cast<const float*>(at);
        fused[i - 1].stride = stride;
      } else {
        args.in[i] = at;
        args.stride[i] = stride;
      }
      add_relocation(i, instruction.in[i]);
    }
    args.fused = fused;
    args.out = address(instruction.out);
    add_relocation(result, instruction.out);
    if (instruction.op == ir::Op::gather) {
      args.table = buffers_.tables[instruction.table].data;
      args.number = buffers_.tables[instruction.table].count;
    }
    return args;
  }

  template <class Address>
  void relocate(const Address& address_of, std::uint64_t first) {
    for (const Relocation& one : relocations_) {
      KernelArgs& args = args_[one.instruction];
      std::byte* const at = address_of(one.location);
      if (one.operand == result) {
        args.out = at;
        args.nontemporal = nontemporal_ && program_.body[one.instruction].result_unread;
      } else if (one.operand > 0 && !args.fused.empty()) {
        fused_[one.instruction][one.operand - 1].operand = reinterpret_cast<const float*>(at);
      } else {
        args.in[one.operand] = at;
      }
    }
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (program_.body[i].op == ir::Op::index) args_[i].number = first;
    }
  }

  void relocate_to(std::uint64_t first) {
    relocate(
        [&](Location location) {
          // Inputs are only read: KernelArgs::in points to const again.
          return location.kind == Location::Kind::input
                     ? const_cast<std::byte*>(buffers_.inputs[location.number]) + first * input_size(location.number)
                     : buffers_.outputs[location.number] + first * output_size(location.number);
        },
        first);
  }

  // Computes the last elements, which fill no vector, in scratch memory: inputs are copied in, outputs copied out.
  void run_tail(std::uint64_t first, std::size_t count) {
    const std::size_t inputs = buffers_.inputs.size();
    const auto tail_of = [&](Location location) {
      return tail_ + (location.number + (location.kind == Location::Kind::input ? 0 : inputs)) * register_bytes_;
    };
    for (std::uint32_t i = 0; i < inputs; ++i) {
      std::byte* const padded = tail_of({Location::Kind::input, i});
      std::memset(padded, 0, register_bytes_);
      std::memcpy(padded, buffers_.inputs[i] + first * input_size(i), count * input_size(i));
    }
    relocate(tail_of, first);
    run_instructions(0, args_.size(), (count + lanes_max - 1) / lanes_max * lanes_max);
    for (std::uint32_t o = 0; o < buffers_.outputs.size(); ++o)
      std::memcpy(buffers_.outputs[o] + first * output_size(o), tail_of({Location::Kind::output, o}),
                  count * output_size(o));
  }

  void run_instructions(std::size_t begin, std::size_t end, std::size_t count) {
    for (std::size_t i = begin; i < end; ++i) {
      const VectorInstruction& instruction = program_.body[i];
      if (instruction.kernel != nullptr) {
        instruction.kernel(args_[i], count);
        continue;
      }
      const std::uint32_t trips = *static_cast<const std::uint32_t*>(args_[i].in[0]);
      for (std::uint32_t trip = 0; trip < trips; ++trip) {
        fill(static_cast<std::uint32_t*>(args_[i].out), trip);
        run_instructions(i + 1, instruction.end, count);
      }
      i = instruction.end - 1;
    }
  }

  [[nodiscard]] std::size_t input_size(std::uint32_t number) const { return function_.input_sizes()[number]; }
  [[nodiscard]] std::size_t output_size(std::uint32_t number) const { return function_.output_sizes()[number]; }

  const CompiledFunction& function_;
  const Program& program_;
  const HostBuffers& buffers_;
  std::uint64_t count_;
  bool nontemporal_;
  std::size_t register_bytes_ = 0;
  std::unique_ptr<std::byte, AlignedDelete> memory_;
  std::byte* registers_ = nullptr;
  std::byte* tail_ = nullptr;  // inputs and outputs of the last block
  std::vector<KernelArgs> args_;
  std::vector<std::vector<FusedOp>> fused_;  // of each instruction
  std::vector<Relocation> relocations_;
};

}  // namespace

CompiledFunction::CompiledFunction(const ir::Function& function) : program_(compile(function)) {
  for (const DType element : function.inputs) input_sizes_.push_back(4 / lanes(element));
  for (const ir::Output& output : function.outputs) output_sizes_.push_back(4 / lanes(output.element));
}

void CompiledFunction::run(Executor& executor, const HostBuffers& buffers, std::uint64_t count) const {
  if (count == 0) return;
  const std::uint64_t blocks = (count + program_.block - 1) / program_.block;
  const std::size_t grain = std::max<std::size_t>(1, elements_per_task_min / program_.block);
  if (blocks <= grain) return ThreadState(*this, buffers, count).run(0, blocks);
  executor.parallel_for(
      blocks, grain, [&](std::size_t begin, std::size_t end) { ThreadState(*this, buffers, count).run(begin, end); });
}

}  // namespace vectis::inline v0_1::vm
