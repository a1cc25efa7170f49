// Times operations of arrays for tools/bench/arrays.py. Reads cases, one per line: "conv BATCH INPUTS OUTPUTS EXTENT
// WINDOW GROUPS STEP PADDING AXES", "softmax ROWS COLUMNS", "max_pool BATCH CHANNELS EXTENT WINDOW STEP", "sum COUNT",
// "max COUNT", "one NAME" (an operation on one element, with its gradients); answers with the largest error relative to
// the largest element of the result in float64. "run" computes the case again and answers with its nanoseconds; "quit"
// ends. The argument is the number of threads.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "vectis/array.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"

namespace {

using vectis::DType;
using vectis::Shape;
using vectis::array::Tensor;
using Inputs = std::vector<Tensor>;

// A function of arrays, its inputs, and smaller ones for the comparison with float64.
struct Case {
  std::function<Inputs(const Inputs&)> function;
  Inputs inputs;
  Inputs checked;
  std::uint64_t repetitions = 1;  // in a run, whose time is divided by them
};

// An operation with its gradients: the last input is the gradient of its result.
std::function<Inputs(const Inputs&)> with_gradients(const vectis::array::Function& function) {
  return [=](const Inputs& x) {
    const auto [value, gradients] = vjp(function, std::span(x).first(x.size() - 1), x.back());
    Inputs results = {value};
    results.insert(results.end(), gradients.begin(), gradients.end());
    return results;
  };
}

class Bench {
 public:
  explicit Bench(std::size_t threads) : runtime_(options(threads)) {}

  Case parse(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const auto number = [&] {
      std::int64_t value = 0;
      words >> value;
      return value;
    };
    if (name == "conv") {
      const std::int64_t batch = number(), inputs = number(), outputs = number(), extent = number(), window = number();
      const std::int64_t groups = number(), step = number(), padding = number();
      const auto axes = static_cast<std::size_t>(number());
      const auto make = [&](std::int64_t samples) {
        const auto shape = [&](std::int64_t first, std::int64_t second, std::int64_t each) {
          Shape result = {first, second};
          for (std::size_t i = 0; i < axes; ++i) result.push_back(each);
          return random(result);
        };
        const std::int64_t positions = (extent + 2 * padding - window) / step + 1;
        return Inputs{shape(samples, inputs, extent), shape(outputs, inputs / groups, window),
                      shape(samples, outputs, positions)};
      };
      return {with_gradients([=](std::span<const Tensor> x) {
                return conv(x[0], x[1], {.steps = {step}, .padding = {padding}, .dilations = {}, .groups = groups});
              }),
              make(batch), make(1)};
    }
    if (name == "softmax") {
      const std::int64_t rows = number(), columns = number();
      const auto softmax = [](const Inputs& x) { return Inputs{vectis::array::softmax(x[0], -1)}; };
      const Inputs inputs = {random({rows, columns})};
      return {softmax, inputs, inputs};
    }
    if (name == "max_pool") {
      const std::int64_t batch = number(), channels = number(), extent = number(), window = number(), step = number();
      const auto pool = [=](std::span<const Tensor> x) { return max_pool(x[0], {window}, {.steps = {step}}); };
      const std::int64_t positions = (extent - window) / step + 1;
      const Inputs inputs = {random({batch, channels, extent, extent}),
                             random({batch, channels, positions, positions})};
      return {with_gradients(pool), inputs, inputs};
    }
    if (name == "one") {
      words >> name;
      const auto function = [=](std::span<const Tensor> x) {
        if (name == "add") return x[0] + x[1];
        if (name == "multiply") return x[0] * x[1];
        return name == "exp" ? exp(x[0]) : tanh(x[0]);
      };
      Inputs inputs = {random({1}), random({1})};
      if (name == "add" || name == "multiply") inputs.push_back(random({1}));
      return {with_gradients(function), inputs, inputs, 1000};
    }
    const Inputs inputs = {random({number()})};
    if (name == "sum") return {[](const Inputs& x) { return Inputs{sum(x[0])}; }, inputs, inputs};
    return {[](const Inputs& x) { return Inputs{max(x[0])}; }, inputs, inputs};
  }

 private:
  static vectis::RuntimeOptions options(std::size_t threads) {
    vectis::RuntimeOptions result;
    result.threads = threads;
    return result;
  }
  Tensor random(const Shape& shape) {
    const vectis::array::TensorOptions here{.device = runtime_.service<vectis::DeviceRegistry>().find("cpu").value()};
    const std::vector<float> values = vectis::array::Generator(++seed_).normal(shape).to_cpu<float>();
    return Tensor::from_cpu(values, shape, here);
  }

  vectis::Runtime runtime_;
  std::uint64_t seed_ = 0;
};

double error_of(const Case& tested) {
  Inputs wide;
  for (const Tensor& input : tested.checked) wide.push_back(input.astype(DType::float64));
  const Inputs found = tested.function(tested.checked);
  const Inputs expected = tested.function(wide);
  double error = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Tensor difference = max(absolute(found[i].astype(DType::float64) - expected[i]));
    error = std::max(error, (difference / max(absolute(expected[i]))).item());
  }
  return error;
}

std::uint64_t nanoseconds(const Case& tested) {
  const auto start = vectis::monotonic_nanoseconds();
  for (std::uint64_t i = 0; i < tested.repetitions; ++i) {
    const Inputs results = tested.function(tested.inputs);
    vectis::array::eval(results);
  }
  return (vectis::monotonic_nanoseconds() - start) / tested.repetitions;
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
  Case current;
  std::string line;
  while (std::getline(std::cin, line) && line != "quit") {
    if (line == "run") {
      std::cout << nanoseconds(current) << std::endl;
      continue;
    }
    current = {};
    current = bench.parse(line);
    std::cout << error_of(current) << std::endl;
  }
  return 0;
}
