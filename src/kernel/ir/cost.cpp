#include "kernel/ir/opcodes.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// The cost of an operation in additions: typical throughputs of CPUs and GPUs, rounded.
double weight(Op op, DType type) {
  switch (op) {
    case Op::constant:
    case Op::input:
    case Op::argument:
    case Op::index:
    case Op::loop:
    case Op::result:
    case Op::carried:
    case Op::iteration:
    case Op::bitcast:
      return 0;
    case Op::fma:
      return 2;
    case Op::div:
      return type == DType::float32 ? 6 : 20;
    case Op::rem:
      return 20;
    case Op::sqrt:
    case Op::rsqrt:
      return 6;
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::random:
      return 16;
    case Op::sin:
    case Op::cos:
    case Op::tanh:
    case Op::asin:
    case Op::acos:
    case Op::atan:
      return 20;
    case Op::tan:
    case Op::atan2:
    case Op::erf:
      return 30;
    case Op::pow:
      return 40;
    default:
      return 1;
  }
}

double bytes_of(DType element) { return static_cast<double>(size_of(element)); }

class Counter {
 public:
  Counter(const Function& function, double assumed_trips) : function_(function), assumed_trips_(assumed_trips) {}

  Cost run() {
    count(function_.body, 1);
    for (const Output& output : function_.outputs) cost_.bytes_written += bytes_of(output.element);
    return cost_;
  }

 private:
  void count(const Block& block, double times) {
    for (const Id id : block) {
      const Instruction& inst = function_.instructions[id];
      cost_.operations += times * weight(inst.op, inst.type);
      if (inst.op == Op::input) cost_.bytes_read += bytes_of(function_.inputs[inst.immediate]);
      if (inst.op == Op::gather) cost_.bytes_read += times * bytes_of(function_.tables[inst.immediate]);
      if (inst.op == Op::loop) count_loop(function_.loops[inst.immediate], times);
    }
  }
  void count_loop(const Loop& loop, double times) {
    const Instruction& trip_count = function_.instructions[loop.trip_count];
    const double trips = trip_count.op == Op::constant ? static_cast<double>(trip_count.immediate) : assumed_trips_;
    count(loop.body, times * trips);
  }

  const Function& function_;
  double assumed_trips_;
  Cost cost_;
};

}  // namespace

Cost estimate_cost(const Function& function, double assumed_trips) {
  verify(function);
  return Counter(function, assumed_trips).run();
}

}  // namespace vectis::inline v0_1::ir
