// matmul through the library compared with direct calls of oneDNN, in turns in one run, and the overhead of an empty
// call. Medians; ratios are the library's speed over that of the faster of oneDNN's two interfaces. Prints JSON.

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "vectis/device.hpp"
#include "vectis/kernel/operation.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Both products of oneDNN on the library's own memory.
class Bare {
 public:
  Bare(std::int64_t size, float* a, float* b, float* c)
      : size_(size),
        data_{a, b, c},
        form_({size, size}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab),
        product_(dnnl::matmul::primitive_desc(dnnl::matmul::desc(form_, form_, form_), engine_)) {}

  void sgemm() { dnnl_sgemm('N', 'N', size_, size_, size_, 1, data_[0], size_, data_[1], size_, 0, data_[2], size_); }
  void primitive() {
    product_.execute(stream_, {{DNNL_ARG_SRC, dnnl::memory(form_, engine_, data_[0])},
                               {DNNL_ARG_WEIGHTS, dnnl::memory(form_, engine_, data_[1])},
                               {DNNL_ARG_DST, dnnl::memory(form_, engine_, data_[2])}});
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::int64_t size_;
  float* data_[3];
  dnnl::memory::desc form_;
  dnnl::matmul product_;
};

nlohmann::ordered_json measure(const vectis::DeviceContext& context, vectis::Stream& stream, std::uint64_t size) {
  std::vector<vectis::View> views;
  for (int i = 0; i < 3; ++i) {
    views.emplace_back(vectis::DeviceMemory(context, size * size * 4), vectis::DType::float32, size, size);
    vectis::run(stream, "fill", {views.back()}, {0.5});
  }
  const auto floats = [&](std::size_t i) { return reinterpret_cast<float*>(views[i].memory.address()); };
  Bare bare(static_cast<std::int64_t>(size), floats(0), floats(1), floats(2));
  const std::vector<std::function<void()>> ways = {[&] { vectis::run(stream, "matmul", views); }, [&] { bare.sgemm(); },
                                                   [&] { bare.primitive(); }};
  const int rounds = size <= 512 ? 101 : size <= 1024 ? 31 : 9;
  std::vector<std::vector<double>> times(ways.size());
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const double time = seconds(ways[way]);
      if (round >= 0) times[way].push_back(time);
    }
  }
  const double work = 2e-9 * static_cast<double>(size * size * size);
  const double ours = work / median(times[0]);
  const double sgemm = work / median(times[1]);
  const double primitive = work / median(times[2]);
  return {{"size", size},
          {"vectis GFLOP/s", ours},
          {"sgemm GFLOP/s", sgemm},
          {"primitive GFLOP/s", primitive},
          {"ratio", ours / std::max(sgemm, primitive)}};
}

// Nanoseconds of an operation on one element.
double call_overhead(const vectis::DeviceContext& context, vectis::Stream& stream) {
  const vectis::View one(vectis::DeviceMemory(context, 4), vectis::DType::float32, 1, 1);
  std::vector<double> times;
  for (int round = 0; round < 15; ++round) {
    times.push_back(seconds([&] {
      for (int i = 0; i < 10'000; ++i) vectis::run(stream, "fill", {one}, {1.0});
    }));
  }
  return median(times) / 10'000 * 1e9;
}

}  // namespace

int main(int count, char** arguments) {
  vectis::Runtime runtime;
  const vectis::DeviceContext context(*runtime.service<vectis::DeviceRegistry>().find("cpu"));
  vectis::Stream stream(context);
  nlohmann::ordered_json report;
  report["nanoseconds of a call"] = call_overhead(context, stream);
  const std::uint64_t most = count > 1 ? std::stoull(arguments[1]) : 4096;
  for (std::uint64_t size = 256; size <= most; size *= 2) report["products"].push_back(measure(context, stream, size));
  std::cout << report.dump(2) << '\n';
}
