// Layers and losses against PyTorch: names and shapes of the state, values, gradients of inputs and parameters,
// buffers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/nn/layer_cases.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis::test {

namespace {

// What torch_reference.py wrote for one case, in double precision.
struct TorchCase {
  nn::StateDict state;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> adjoints;
  std::vector<Tensor> input_gradients;  // empty for integers
  std::map<std::string, Tensor> gradients;
  std::map<std::string, Tensor> buffers;
};

// Reads "kind rank extents values".
Tensor read_tensor(std::istream& line) {
  std::string kind;
  std::size_t rank = 0;
  line >> kind >> rank;
  Shape shape(rank, 0);
  for (std::int64_t& extent : shape) line >> extent;
  std::vector<double> values;
  std::string word;
  while (line >> word) values.push_back(std::strtod(word.c_str(), nullptr));
  const Tensor real = Tensor::from_cpu(values, shape);
  if (kind == "bool") return real.astype(DType::boolean).eval();
  return kind == "integer" ? real.astype(DType::int32).eval() : real;
}

std::map<std::string, TorchCase> read_cases(const std::string& file) {
  std::map<std::string, TorchCase> cases;
  TorchCase* current = nullptr;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    std::string role;
    std::string name;
    line >> role >> name;
    if (role == "case") {
      current = &cases[name];
      continue;
    }
    const Tensor tensor = read_tensor(line);
    if (role == "state") current->state.add(name, tensor);
    if (role == "input") current->inputs.push_back(tensor);
    if (role == "output") current->outputs.push_back(tensor);
    if (role == "adjoint") current->adjoints.push_back(tensor);
    if (role == "gradient") current->gradients[name] = tensor;
    if (role == "buffer") current->buffers[name] = tensor;
    if (role == "input_gradient") {
      current->input_gradients.resize(std::stoul(name) + 1);
      current->input_gradients.back() = tensor;
    }
  }
  return cases;
}

std::map<std::string, TorchCase> reference() {
  const TemporaryFolder folder;
  const std::string file = folder.path("reference.txt");
  const std::string command = std::string(std::getenv("VECTIS_TEST_TORCH_PYTHON")) + " " +
                              std::getenv("VECTIS_TEST_TORCH_SCRIPT") + " " + std::to_string(seed()) + " " + file;
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);  // NOLINT(concurrency-mt-unsafe)
  return read_cases(file);
}

// The largest difference, relative to the largest expected element or 1.
double difference(const Tensor& found, const Tensor& expected) {
  if (found.shape() != expected.shape()) return INFINITY;
  const std::vector<double> a = found.astype(DType::float64).to_cpu<double>();
  const std::vector<double> b = expected.astype(DType::float64).to_cpu<double>();
  double largest = 0;
  double scale = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]);
    largest = std::max(largest, std::isnan(distance) ? INFINITY : distance);
    scale = std::max(scale, std::abs(b[i]));
  }
  return largest / scale;
}

void expect_torch(const LayerCase& test, const TorchCase& torch, DType type, double tolerance) {
  SCOPED_TRACE(test.name + " in " + std::string(vectis::name(type)));
  Generator random(seed());
  CaseModule module = test.make(random);
  nn::convert_to(module, type);
  nn::load_state_dict(module, torch.state);
  const auto typed = [&](const Tensor& x) { return x.dtype() == DType::float64 ? x.astype(type) : x; };
  std::vector<Tensor> inputs;
  for (const Tensor& input : torch.inputs) inputs.push_back(typed(input));
  std::vector<Tensor> adjoints;
  for (const Tensor& adjoint : torch.adjoints) adjoints.push_back(typed(adjoint));
  const CaseResult result = run_case(module, inputs, adjoints);
  ASSERT_EQ(result.outputs.size(), torch.outputs.size());
  for (std::size_t i = 0; i < torch.outputs.size(); ++i) {
    EXPECT_EQ(result.outputs[i].dtype(), type);
    EXPECT_LE(difference(result.outputs[i], torch.outputs[i]), tolerance) << "output " << i;
  }
  for (std::size_t i = 0; i < torch.input_gradients.size(); ++i) {
    if (torch.input_gradients[i].is_empty()) continue;
    EXPECT_LE(difference(result.input_gradients[i], torch.input_gradients[i]), tolerance) << "gradient of input " << i;
  }
  const std::vector<nn::NamedTensor> parameters = nn::named_parameters(module);
  ASSERT_EQ(parameters.size(), torch.gradients.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_LE(difference(result.parameter_gradients[i], torch.gradients.at(parameters[i].name)), tolerance)
        << "gradient of " << parameters[i].name;
  }
  const nn::StateDict after = nn::state_dict(module);
  for (const auto& [name, buffer] : torch.buffers) {
    EXPECT_LE(difference(after.at(name), buffer), tolerance) << "buffer " << name;
  }
}

TEST(Torch, EveryLayerHasItsStateValuesAndGradients) {
  std::map<std::string, TorchCase> torch = reference();
  std::set<std::string> names;
  for (const LayerCase& test : layer_cases()) {
    names.insert(test.name);
    ASSERT_TRUE(torch.contains(test.name)) << test.name;
    // PyTorch computes the gradient of HardSigmoid with 1/6 in float32.
    const double wide = test.name == "activation_HardSigmoid" ? 1e-7 : 1e-10;
    expect_torch(test, torch[test.name], DType::float64, wide);
    expect_torch(test, torch[test.name], DType::float32, test.tolerance);
    if (HasFatalFailure()) return;
  }
  for (const auto& [name, ignored] : torch) EXPECT_TRUE(names.contains(name)) << name;
  if (!HasFailure()) std::printf("%zu cases agree\n", names.size());
}

}  // namespace

}  // namespace vectis::test
