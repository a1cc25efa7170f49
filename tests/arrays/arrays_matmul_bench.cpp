// matmul of float32 arrays compared with direct calls of oneDNN, in turns in one run with the same threads. Medians;
// ratios are our speed over that of the faster of oneDNN's two interfaces. Prints JSON. The argument is the number of
// threads; OMP_NUM_THREADS must be the same. With one thread, times are the CPU's, which other processes disturb less.

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "vectis/array.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"

namespace {

using vectis::array::Tensor;

double milliseconds(const std::function<void()>& body, bool has_one_thread) {
  const auto now = [&] {
    return has_one_thread ? static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC
                          : static_cast<double>(vectis::monotonic_nanoseconds()) / 1e6;
  };
  const double start = now();
  body();
  return now() - start;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Both products of oneDNN, of matrices of their own.
class Bare {
 public:
  explicit Bare(std::int64_t size)
      : size_(size),
        form_({size, size}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab),
        product_(dnnl::matmul::primitive_desc(dnnl::matmul::desc(form_, form_, form_), engine_)) {
    for (std::vector<float>& matrix : matrices_) matrix.assign(static_cast<std::size_t>(size * size), 0.5F);
  }

  void sgemm() {
    dnnl_sgemm('N', 'N', size_, size_, size_, 1, matrices_[0].data(), size_, matrices_[1].data(), size_, 0,
               matrices_[2].data(), size_);
  }
  void primitive() {
    product_.execute(stream_, {{DNNL_ARG_SRC, dnnl::memory(form_, engine_, matrices_[0].data())},
                               {DNNL_ARG_WEIGHTS, dnnl::memory(form_, engine_, matrices_[1].data())},
                               {DNNL_ARG_DST, dnnl::memory(form_, engine_, matrices_[2].data())}});
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::int64_t size_;
  std::vector<float> matrices_[3];
  dnnl::memory::desc form_;
  dnnl::matmul product_;
};

nlohmann::ordered_json measure(const vectis::array::TensorOptions& here, std::int64_t size, bool has_one_thread) {
  const Tensor a = (vectis::array::arange(0, static_cast<double>(size), 1, vectis::DType::float32, here) +
                    vectis::array::zeros({size, 1}, vectis::DType::float32, here));
  a.eval();
  Bare bare(size);
  const std::vector<std::function<void()>> sides = {[&] { matmul(a, a).eval(); }, [&] { bare.sgemm(); },
                                                    [&] { bare.primitive(); }};
  const int rounds = size <= 512 ? 101 : size <= 1024 ? 41 : size <= 2048 ? 15 : 7;
  std::vector<std::vector<double>> times(sides.size());
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (std::size_t side = 0; side < sides.size(); ++side) {
      const double time = milliseconds(sides[side], has_one_thread);
      if (round >= 0) times[side].push_back(time);
    }
  }
  return {{"size", size},
          {"milliseconds", median(times[0])},
          {"sgemm", median(times[1])},
          {"primitive", median(times[2])},
          {"ratio", std::min(median(times[1]), median(times[2])) / median(times[0])}};
}

}  // namespace

int main(int count, char** arguments) {
  vectis::RuntimeOptions options;
  options.threads = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1;
  vectis::Runtime runtime(options);
  const vectis::array::TensorOptions here{.device = runtime.service<vectis::DeviceRegistry>().find("cpu").value()};
  nlohmann::ordered_json report;
  for (const std::int64_t size : {512, 1024, 2048, 4096}) report.push_back(measure(here, size, options.threads == 1));
  std::cout << report.dump(2) << '\n';
}
