#include "kernel/vm/compiled_function.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::executor {

namespace {

constexpr std::size_t alignment = lanes_max * sizeof(std::uint32_t);
// Fewer elements are not worth waking a thread.
constexpr std::size_t grain_elements = 16384;
// An output of this size leaves the caches before anybody reads it, so it need not be read into them to be written.
constexpr std::uint64_t stream_bytes = 32 << 20;

struct Freed {
  void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{alignment}); }
};

// One thread's place of work: scratch memory, and the steps' operands resolved to addresses.
class Frame {
 public:
  Frame(const CompiledFunction& function, const HostBuffers& buffers, std::uint64_t count)
      : function_(function),
        plan_(function.plan()),
        buffers_(buffers),
        count_(count),
        streams_(count * sizeof(std::uint32_t) >= stream_bytes) {
    // A short call needs no whole block.
    const std::uint64_t padded = (std::min<std::uint64_t>(count, plan_.block) + lanes_max - 1) / lanes_max * lanes_max;
    slot_bytes_ = padded * sizeof(std::uint32_t);
    const std::size_t ends = buffers.inputs.size() + buffers.outputs.size();
    const std::size_t bytes = plan_.uniforms * alignment + (plan_.slots + ends) * slot_bytes_;
    memory_.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment})));
    slots_ = memory_.get() + plan_.uniforms * alignment;
    ends_ = slots_ + plan_.slots * slot_bytes_;
    for (const Scalar& scalar : plan_.scalars)
      fill(uniform(scalar.uniform), scalar.is_argument ? buffers.arguments[scalar.value] : scalar.value);
    for (const Step& step : plan_.once) {
      std::vector<Link> none;
      step.kernel(resolve(step, none), lanes_max);
    }
    for (const std::byte* output : buffers.outputs)
      streams_ = streams_ && std::ranges::find(buffers.inputs, output) == buffers.inputs.end();
    links_.resize(plan_.steps.size());
    for (const Step& step : plan_.steps) calls_.push_back(resolve(step, links_[calls_.size()]));
  }

  void run(std::uint64_t first_block, std::uint64_t last_block) {
    run_blocks(first_block, last_block);
    if (streams_) hwy::FlushStream();
  }

 private:
  void run_blocks(std::uint64_t first_block, std::uint64_t last_block) {
    for (std::uint64_t block = first_block; block < last_block; ++block) {
      const std::uint64_t first = block * plan_.block;
      const std::size_t count = std::min<std::uint64_t>(plan_.block, count_ - first);
      if (count % lanes_max == 0) {
        move_to(first);
        run_steps(0, calls_.size(), count);
      } else {
        run_end(first, count);
      }
    }
  }

  // An operand in the caller's memory: it moves from block to block.
  struct Moving {
    std::size_t step;
    std::size_t operand;
    Place place;
  };

  static constexpr std::size_t result = SIZE_MAX;  // as an operand

  std::uint32_t* uniform(std::uint32_t number) const {
    return reinterpret_cast<std::uint32_t*>(memory_.get() + number * alignment);
  }
  static void fill(std::uint32_t* uniform, std::uint32_t value) { std::fill_n(uniform, lanes_max, value); }

  // Null for the caller's memory.
  std::byte* address(Place place) const {
    if (place.kind == Place::Kind::slot) return slots_ + place.number * slot_bytes_;
    if (place.kind == Place::Kind::uniform) return reinterpret_cast<std::byte*>(uniform(place.number));
    return nullptr;
  }

  void note(std::size_t operand, Place place) {
    if (place.kind == Place::Kind::input || place.kind == Place::Kind::output)
      moving_.push_back({calls_.size(), operand, place});
  }

  Call resolve(const Step& step, std::vector<Link>& links) {
    Call call;
    for (const LinkKind& kind : step.links) links.push_back({kind.op, kind.form});
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      const std::byte* const at = address(step.in[i]);
      const Place::Kind kind = step.in[i].kind;
      const std::size_t stride = kind == Place::Kind::uniform || kind == Place::Kind::none ? 0 : 1;
      if (i > 0 && !links.empty()) {
        links[i - 1].operand = reinterpret_cast<const float*>(at);
        links[i - 1].stride = stride;
      } else {
        call.in[i] = at;
        call.stride[i] = stride;
      }
      note(i, step.in[i]);
    }
    call.links = links;
    call.out = address(step.out);
    note(result, step.out);
    if (step.op == ir::Op::gather) {
      call.table = buffers_.tables[step.table].data;
      call.number = buffers_.tables[step.table].count;
    }
    return call;
  }

  template <class Address>
  void move(const Address& address_of, std::uint64_t first) {
    for (const Moving& one : moving_) {
      Call& call = calls_[one.step];
      std::byte* const at = address_of(one.place);
      if (one.operand == result) {
        call.out = at;
        call.streams = streams_ && plan_.steps[one.step].last;
      } else if (one.operand > 0 && !call.links.empty()) {
        links_[one.step][one.operand - 1].operand = reinterpret_cast<const float*>(at);
      } else {
        call.in[one.operand] = at;
      }
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (plan_.steps[i].op == ir::Op::index) calls_[i].number = first;
    }
  }

  void move_to(std::uint64_t first) {
    move(
        [&](Place place) {
          // Inputs are only ever read: a step's operand is a pointer to const again.
          return place.kind == Place::Kind::input
                     ? const_cast<std::byte*>(buffers_.inputs[place.number]) + first * input_size(place.number)
                     : buffers_.outputs[place.number] + first * output_size(place.number);
        },
        first);
  }

  // The last elements, which fill no vector: through memory of our own on both sides.
  void run_end(std::uint64_t first, std::size_t count) {
    const std::size_t inputs = buffers_.inputs.size();
    const auto end_of = [&](Place place) {
      return ends_ + (place.number + (place.kind == Place::Kind::input ? 0 : inputs)) * slot_bytes_;
    };
    for (std::uint32_t i = 0; i < inputs; ++i) {
      std::byte* const end = end_of({Place::Kind::input, i});
      std::memset(end, 0, slot_bytes_);
      std::memcpy(end, buffers_.inputs[i] + first * input_size(i), count * input_size(i));
    }
    move(end_of, first);
    run_steps(0, calls_.size(), (count + lanes_max - 1) / lanes_max * lanes_max);
    for (std::uint32_t o = 0; o < buffers_.outputs.size(); ++o)
      std::memcpy(buffers_.outputs[o] + first * output_size(o), end_of({Place::Kind::output, o}),
                  count * output_size(o));
  }

  void run_steps(std::size_t begin, std::size_t end, std::size_t count) {
    for (std::size_t i = begin; i < end; ++i) {
      const Step& step = plan_.steps[i];
      if (step.kernel != nullptr) {
        step.kernel(calls_[i], count);
        continue;
      }
      const std::uint32_t trips = *static_cast<const std::uint32_t*>(calls_[i].in[0]);
      for (std::uint32_t trip = 0; trip < trips; ++trip) {
        fill(static_cast<std::uint32_t*>(calls_[i].out), trip);
        run_steps(i + 1, step.end, count);
      }
      i = step.end - 1;
    }
  }

  [[nodiscard]] std::size_t input_size(std::uint32_t number) const { return function_.input_sizes()[number]; }
  [[nodiscard]] std::size_t output_size(std::uint32_t number) const { return function_.output_sizes()[number]; }

  const CompiledFunction& function_;
  const Plan& plan_;
  const HostBuffers& buffers_;
  std::uint64_t count_;
  bool streams_;
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<std::byte, Freed> memory_;
  std::byte* slots_ = nullptr;
  std::byte* ends_ = nullptr;  // inputs and outputs of the last block
  std::vector<Call> calls_;
  std::vector<std::vector<Link>> links_;  // of each step
  std::vector<Moving> moving_;
};

}  // namespace

CompiledFunction::CompiledFunction(const ir::Function& function) : plan_(make_plan(function)) {
  for (const DType element : function.inputs) input_sizes_.push_back(4 / lanes(element));
  for (const ir::Output& output : function.outputs) output_sizes_.push_back(4 / lanes(output.element));
}

void CompiledFunction::run(Executor& executor, const HostBuffers& buffers, std::uint64_t count) const {
  if (count == 0) return;
  const std::uint64_t blocks = (count + plan_.block - 1) / plan_.block;
  const std::size_t grain = std::max<std::size_t>(1, grain_elements / plan_.block);
  if (blocks <= grain) return Frame(*this, buffers, count).run(0, blocks);
  executor.parallel_for(blocks, grain,
                        [&](std::size_t begin, std::size_t end) { Frame(*this, buffers, count).run(begin, end); });
}

}  // namespace vectis::inline v0_1::executor
