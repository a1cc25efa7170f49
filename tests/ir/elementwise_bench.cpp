// A chain of six element-wise operations, y = max((x*a + b)*x - c, 0) * d, by the CPU vector VM and by a fused loop
// written by hand, with the same threads. Driven line by line, so that bench/elementwise can measure peers in turns:
// reads "vectis", "hand" or "hand-streaming" and prints the nanoseconds one pass took, "check" compares the results.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/ir/elementwise_bench.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool streaming>
void Chain(const float* x, float* y, std::size_t begin, std::size_t end) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto a = hn::Set(d, 1.25F);
  const auto b = hn::Set(d, 0.5F);
  const auto c = hn::Set(d, 0.75F);
  const auto scale = hn::Set(d, 3.0F);
  for (std::size_t i = begin; i < end; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto inner = hn::Sub(hn::Mul(hn::Add(hn::Mul(v, a), b), v), c);
    const auto result = hn::Mul(hn::Max(inner, hn::Zero(d)), scale);
    if constexpr (streaming) {
      hn::Stream(result, d, y + i);
    } else {
      hn::StoreU(result, d, y + i);
    }
  }
}

void DoubleDomain(const float* x, float* y, std::size_t begin, std::size_t end) { Chain<false>(x, y, begin, end); }
void Streaming(const float* x, float* y, std::size_t begin, std::size_t end) { Chain<true>(x, y, begin, end); }

}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/map.hpp"

namespace bench {

HWY_EXPORT(DoubleDomain);
HWY_EXPORT(Streaming);

vectis::ir::Function chain() {
  vectis::ir::Builder b("chain");
  const auto x = b.input(vectis::DType::float32);
  const auto inner = b.sub(b.mul(b.add(b.mul(x, b.constant(1.25F)), b.constant(0.5F)), x), b.constant(0.75F));
  b.output(b.mul(b.binary(vectis::ir::Op::max, inner, b.constant(0.0F)), b.constant(3.0F)), vectis::DType::float32);
  return b.finish();
}

class Bench {
 public:
  explicit Bench(std::size_t count) : count_(count) {
    float* const x = values(input_);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 1000) / 250.0F - 2.0F;
  }

  void vectis() { map(stream_, function_, {{&input_, 1}, {}, {&output_, 1}, {}}, count_); }
  void hand(bool streaming) {
    const float* const x = values(input_);
    float* const y = values(expected_);
    runtime_.executor().parallel_for(count_, 1 << 16U, [&](std::size_t begin, std::size_t end) {
      if (streaming) {
        HWY_DYNAMIC_DISPATCH(Streaming)(x, y, begin, end);
      } else {
        HWY_DYNAMIC_DISPATCH(DoubleDomain)(x, y, begin, end);
      }
    });
  }
  // The number of different elements.
  std::size_t differences() {
    vectis();
    hand(false);
    std::size_t different = 0;
    for (std::size_t i = 0; i < count_; ++i) different += values(output_)[i] == values(expected_)[i] ? 0U : 1U;
    return different;
  }

 private:
  static float* values(const vectis::DeviceMemory& memory) { return reinterpret_cast<float*>(memory.address()); }

  std::size_t count_;
  vectis::Runtime runtime_;
  vectis::DeviceContext context_{runtime_.service<vectis::DeviceRegistry>().find("cpu").value()};
  vectis::Stream stream_{context_};
  vectis::DeviceMemory input_{context_, count_ * sizeof(float)};
  vectis::DeviceMemory output_{context_, count_ * sizeof(float)};
  vectis::DeviceMemory expected_{context_, count_ * sizeof(float)};
  vectis::ir::Function function_ = chain();
};

}  // namespace bench

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  bench::Bench bench(count / 64 * 64);
  std::string command;
  while (std::cin >> command) {
    if (command == "check") {
      std::cout << bench.differences() << std::endl;
      continue;
    }
    const auto start = vectis::monotonic_nanoseconds();
    if (command == "vectis") {
      bench.vectis();
    } else {
      bench.hand(command == "hand-streaming");
    }
    std::cout << vectis::monotonic_nanoseconds() - start << std::endl;
  }
  return 0;
}
#endif
