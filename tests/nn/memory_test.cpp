// Predicted memory of training against what the memory pool has in use at most. VECTIS_TEST_RUNS sets the number of
// random networks; each is printed as a line of JSON.

#include "vectis/memory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/devices/fixture.hpp"
#include "tests/nn/random_networks.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {

namespace {

using namespace vectis::nn;

constexpr double error_max = 0.1;

RuntimeOptions quiet_options() {
  RuntimeOptions options;
  options.settings = {{"plan.explore_percent", "0"}};
  return options;
}

// Numbers that need no computation, so that making them leaves no trace in the peak of the pool.
Tensor numbers(const Shape& shape, const Device& host, std::int64_t below) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<float>(i * 7 % 11);
    values[i] = below == 0 ? number / 11 : std::fmod(number, static_cast<float>(below));
  }
  if (below == 0) return Tensor::from_cpu(values, shape, {.device = host});
  return Tensor::from_cpu(std::vector<std::int32_t>(values.begin(), values.end()), shape, {.device = host});
}

Shape with_examples(Shape shape, std::int64_t examples) {
  shape.insert(0, examples);
  return shape;
}

struct Measured {
  MemoryPrediction predicted;
  std::uint64_t peak = 0;      // bytes in use, without what was there before
  std::uint64_t resident = 0;  // growth of the process
  [[nodiscard]] double ratio() const { return static_cast<double>(predicted.peak_bytes) / static_cast<double>(peak); }
};

// The bytes of blocks of the pool, whose sizes are rounded up, in which the tensors are that are not stored inline.
std::uint64_t bytes_in_pool(const StateDict& state, bool is_host) {
  constexpr std::uint64_t inline_bytes = 64;
  constexpr std::uint64_t unit = 256;
  std::uint64_t sum = 0;
  for (const auto& [name, value] : state) {
    static_cast<void>(name);
    const auto bytes = static_cast<std::uint64_t>(value.elements()) * size_of(value.dtype());
    if (bytes > inline_bytes || !is_host) sum += (bytes + unit - 1) / unit * unit;
  }
  return sum;
}

// A training on a device, in a Runtime of its own: the high-water mark of a pool cannot be reset.
class MeasuredTraining {
 public:
  MeasuredTraining(const NetworkCase& test, const std::string& device)
      : device_(registry().find(device).value()),
        network_(NetworkBuilder(test.builder).random(Generator(seed(), {.device = host()})).build()),
        config_(test.config) {
    move_to(network_, device_);
    nn::eval(network_);
    config_.device = device_;
    config_.optimizer = test.make_optimizer();
    const std::int64_t examples = test.config.batch_size * 3 * test.config.accumulated_batches;
    data_ = numbers(with_examples(network_.input_shape(), examples), host(), test.tokens);
    Shape label_shape = network_.output_shape();
    if (test.classes > 0) label_shape.erase(label_shape.rank() - 1);
    labels_ = numbers(with_examples(label_shape, examples), host(), test.classes);
  }

  // Predicts, which must change nothing.
  MemoryPrediction predicted() {
    const StateDict before = state_dict(network_);
    const std::uint64_t in_use = stats().in_use_bytes;
    const MemoryPrediction memory = predict_memory(network_, config_.batch_size, config_);
    EXPECT_EQ(stats().in_use_bytes, in_use) << "the prediction leaves memory";
    for (const auto& [name, value] : state_dict(network_)) EXPECT_EQ(value.node(), before.at(name).node()) << name;
    return memory;
  }
  // Lets the pool hold twice as much as `bytes` and some segments, beside the data.
  void limit(std::uint64_t bytes) {
    MemoryPool& pool = memory_pool(runtime_);
    static_cast<void>(pool.emergency_cleanup(device_.id()));
    ASSERT_TRUE(pool.set_max_pool_size(device_.id(), bytes_of_data() + 2 * bytes + (8U << 20U)));
  }
  // Trains and returns the most bytes in use, without those of the data.
  std::uint64_t measured() {
    const std::uint64_t data = bytes_of_data();
    const std::uint64_t peak_before = stats().peak_in_use_bytes;
    static_cast<void>(train(network_, data_, labels_, config_));
    const std::uint64_t peak = stats().peak_in_use_bytes;
    EXPECT_GT(peak, peak_before) << "making the network took more memory than training";
    return peak - data;
  }

 private:
  std::uint64_t bytes_of_data() {
    return stats().in_use_bytes - bytes_in_pool(state_dict(network_), device_ == host());
  }
  DeviceRegistry& registry() { return runtime_.service<DeviceRegistry>(); }
  Device host() { return registry().find("cpu").value(); }
  MemoryStats stats() { return memory_pool(runtime_).get_memory_stats(device_.id()).value(); }

  Runtime runtime_{quiet_options()};
  Device device_;
  Network network_;
  TrainingConfig config_;
  Tensor data_;
  Tensor labels_;
};

void expect_close(const NetworkCase& test, const std::string& device, std::uint64_t number) {
  MeasuredTraining training(test, device);
  const MemoryPrediction p = training.predicted();
  const std::uint64_t measured = training.measured();
  const double ratio = static_cast<double>(p.peak_bytes) / static_cast<double>(measured);
  std::cout << fmt::format(
                   "{{\"seed\": {}, \"device\": \"{}\", \"network\": \"{}\", \"predicted\": {}, \"measured\": {}, "
                   "\"ratio\": {:.4f}, \"parameters\": {}, \"gradients\": {}, \"optimizer\": {}, \"batch\": {}, "
                   "\"activations\": {}, \"workspace\": {}}}",
                   number, device, test.text, p.peak_bytes, measured, ratio, p.parameter_bytes, p.gradient_bytes,
                   p.optimizer_bytes, p.batch_bytes, p.activation_bytes, p.workspace_bytes)
            << std::endl;
  EXPECT_GE(ratio, 1 - error_max) << test.text << " on " << device << ", VECTIS_TEST_SEED=" << number;
  if (test.config.mixed_precision != DType::float16) {  // whose updates may all be left out
    EXPECT_LE(ratio, 1 + error_max) << test.text << " on " << device << ", VECTIS_TEST_SEED=" << number;
  }
  EXPECT_EQ(p.peak_bytes, p.parameter_bytes + p.gradient_bytes + p.optimizer_bytes + p.batch_bytes +
                              p.activation_bytes + p.workspace_bytes);
}

NetworkCase with_layers(std::string text, const Shape& input, std::vector<LayerBuilder> layers, TrainingConfig config) {
  NetworkCase made{
      .text = std::move(text), .builder = NetworkBuilder(input), .config = std::move(config), .classes = 10};
  for (LayerBuilder& layer : layers) made.builder.add_layer(std::move(layer));
  made.builder.add_layer(LayerBuilder::dense(10)).loss(LossFunction::SparseCategoricalCrossEntropy);
  return made;
}

NetworkCase mlp(std::int64_t batch_size = 64) {
  return with_layers("MLP", {784},
                     {LayerBuilder::dense(256).activation(ActivationFunction::ReLU),
                      LayerBuilder::dense(128).activation(ActivationFunction::Tanh)},
                     {.batch_size = batch_size, .max_epochs = 2});
}
NetworkCase cnn() {
  return with_layers("CNN", {3, 32, 32},
                     {LayerBuilder::conv2d(16, {3, 3}, {.padding = {1, 1}}).activation(ActivationFunction::ReLU),
                      LayerBuilder::max_pool({2, 2}),
                      LayerBuilder::conv2d(32, {3, 3}, {.padding = {1, 1}}).activation(ActivationFunction::ReLU),
                      LayerBuilder::average_pool({2, 2}), LayerBuilder::flatten()},
                     {.batch_size = 32, .max_epochs = 2});
}
NetworkCase lstm() {
  return with_layers("LSTM", {20, 48}, {LayerBuilder::lstm(64, {.layers = 2}), LayerBuilder::last_of_sequence()},
                     {.batch_size = 32, .max_epochs = 2});
}
NetworkCase transformer() {
  return with_layers("transformer", {24, 64},
                     {LayerBuilder::positional_encoding(32),
                      LayerBuilder::transformer_encoder(2, 4, {.feed_forward = 256}), LayerBuilder::last_of_sequence()},
                     {.batch_size = 16, .max_epochs = 2});
}
NetworkCase norms() {
  return with_layers(
      "norms", {300},
      {LayerBuilder::dense(200), LayerBuilder::batch_norm(), LayerBuilder::dropout(0.3), LayerBuilder::dense(200),
       LayerBuilder::layer_norm(), LayerBuilder::dropout(0.3), LayerBuilder::dense(100), LayerBuilder::rms_norm()},
      {.batch_size = 96, .max_epochs = 2, .clip_norm = 1.0});
}

// The device on which training is not slow for a test, and whose pool counts as others do.
std::vector<std::string> other_devices() {
  std::vector<std::string> devices;
#if defined(VECTIS_HAS_OPENCL)
  devices.emplace_back("opencl");
#endif
#if defined(VECTIS_HAS_CUDA)
  devices.emplace_back("cuda");
#endif
  return devices;
}

Network build(const NetworkCase& test, const Device& device) {
  return NetworkBuilder(test.builder).random(Generator(seed(), {.device = device})).build();
}

// A module that is no Network, with what else a loss may do.
struct Model {
  explicit Model(Generator random) : hidden(30, 50, random), output(50, 4, random) {}
  Tensor forward(const Tensor& x, const Mode& mode = {}) { return output.forward(tanh(hidden.forward(x, mode)), mode); }
  void visit(Visitor& visitor) {
    visitor.child("hidden", hidden);
    visitor.child("output", output);
  }
  Dense hidden;
  Dense output;
};

struct Nothing {
  void visit(Visitor& /*visitor*/) {}
  Tensor forward(const Tensor& x, const Mode& /*mode*/ = {}) { return x; }
};

class PredictedMemory : public DevicesTest {
 protected:
  PredictedMemory() : DevicesTest(quiet_options()) {}
  Device host() { return device("cpu"); }
  MemoryPool& pool() { return memory_pool(runtime()); }
  Tensor ones(const Shape& shape) { return array::ones(shape, DType::float32, {.device = host()}); }
};

}  // namespace

TEST(PredictedMemoryOf, Mlp) { expect_close(mlp(), "cpu", seed()); }
TEST(PredictedMemoryOf, Cnn) { expect_close(cnn(), "cpu", seed()); }
TEST(PredictedMemoryOf, Lstm) { expect_close(lstm(), "cpu", seed()); }
TEST(PredictedMemoryOf, Transformer) { expect_close(transformer(), "cpu", seed()); }
TEST(PredictedMemoryOf, NormsAndDropout) { expect_close(norms(), "cpu", seed()); }

TEST(PredictedMemoryOf, RandomNetworks) {
  const std::uint64_t runs = runs_wanted(5);
  for (std::uint64_t run = 0; run < runs; ++run) {
    const std::uint64_t number = seed() + run;  // so that VECTIS_TEST_SEED of a failure repeats it alone
    Random random(number);
    expect_close(random_network(random), "cpu", number);
    if (HasFailure()) return;
  }
}

// As recommended_batch_size() relies on. Gaps in the pool are not predicted, so that one of a hundred may fail.
TEST(PredictedMemoryOf, RandomNetworksIsHalfOfWhatIsEnough) {
  const std::uint64_t runs = runs_wanted(5);
  std::uint64_t failures = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    Random random(seed() + run);
    const NetworkCase test = random_network(random);
    MeasuredTraining training(test, "cpu");
    training.limit(training.predicted().peak_bytes);
    try {
      static_cast<void>(training.measured());
    } catch (const Error& error) {
      ++failures;
      std::cout << test.text << ", VECTIS_TEST_SEED=" << seed() + run << ": " << error.what() << "; " << error.detail()
                << '\n';
    }
  }
  EXPECT_LE(failures, runs / 20);
}

TEST(PredictedMemoryOf, NetworksOnOtherDevices) {
  const std::uint64_t runs = runs_wanted(1);
  for (const std::string& device : other_devices()) {
    expect_close(mlp(), device, seed());
    for (std::uint64_t run = 0; run < runs; ++run) {
      Random random(seed() + run);
      expect_close(random_network(random), device, seed() + run);
      if (HasFailure()) return;
    }
  }
}

TEST_F(PredictedMemory, GrowsWithTheBatch) {
  for (const NetworkCase& test : {mlp(), cnn(), lstm(), transformer(), norms()}) {
    const Network network = build(test, host());
    std::uint64_t last = 0;
    for (const std::int64_t batch : {2, 3, 17, 64, 300, 4096, 1 << 20}) {
      const MemoryPrediction memory = predict_memory(network, batch);
      EXPECT_GE(memory.peak_bytes, last) << test.text << " with a batch of " << batch;
      last = memory.peak_bytes;
    }
    EXPECT_GT(last, std::uint64_t{1} << 32)
        << test.text << ": a million examples take gigabytes, which nobody allocated";
  }
}

TEST_F(PredictedMemory, KnowsTheStateOfTheOptimizer) {
  const Network network = build(mlp(), host());
  const auto bytes_with = [&](std::shared_ptr<Optimizer> optimizer) {
    return predict_memory(network, 1, {.optimizer = std::move(optimizer)});
  };
  const MemoryPrediction sgd = bytes_with(std::make_shared<Sgd>());
  const MemoryPrediction momentum = bytes_with(std::make_shared<Sgd>(SgdOptions{.momentum = 0.9}));
  const MemoryPrediction adam = bytes_with(nullptr);
  EXPECT_EQ(sgd.optimizer_bytes, 0U);
  EXPECT_GT(momentum.optimizer_bytes, 900'000U);  // 235,146 parameters
  EXPECT_EQ(adam.optimizer_bytes, 2 * momentum.optimizer_bytes);
  EXPECT_GT(adam.peak_bytes, momentum.peak_bytes);
  EXPECT_GT(momentum.peak_bytes, sgd.peak_bytes);
}

TEST_F(PredictedMemory, OfAModuleAndItsLossIsThatOfTheNetwork) {
  Generator random(seed(), {.device = host()});
  Model model(random);
  const Tensor data = ones({8, 30});
  const Tensor labels = array::zeros({8}, DType::int32, {.device = host()});
  const MemoryPrediction memory = predict_memory(model, classification_loss, data, labels, 500);
  const Network network = Network::with_input_size(30)
                              .add_layer(LayerBuilder::dense(50).activation(ActivationFunction::Tanh))
                              .add_layer(LayerBuilder::dense(4))
                              .loss(LossFunction::SparseCategoricalCrossEntropy)
                              .random(random)
                              .build();
  EXPECT_EQ(memory.peak_bytes, predict_memory(network, 500).peak_bytes);
  EXPECT_EQ(memory.host_bytes, 3U * 500 * (30 + 1) * 4);
}

TEST_F(PredictedMemory, LeavesTheOptimizerAsItWas) {
  Network network = build(mlp(), host());
  const auto optimizer = std::make_shared<Adam>();
  const TrainingConfig config{.batch_size = 8, .max_epochs = 1, .optimizer = optimizer, .device = host()};
  EXPECT_GT(predict_memory(network, 8, config).optimizer_bytes, 0U);
  EXPECT_EQ(optimizer->state_dict().size(), 1U) << "no parameter was updated";
  static_cast<void>(train(network, ones({8, 784}), array::zeros({8}, DType::int32, {.device = host()}), config));
  const StateDict before = optimizer->state_dict();
  const std::uint64_t trained = predict_memory(network, 8, config).peak_bytes;
  for (const auto& [name, value] : optimizer->state_dict()) {
    EXPECT_EQ(value.astype(DType::float64).to_cpu<double>(), before.at(name).astype(DType::float64).to_cpu<double>())
        << name;
  }
  EXPECT_EQ(trained, predict_memory(network, 8, {.optimizer = std::make_shared<Adam>()}).peak_bytes);
}

TEST_F(PredictedMemory, NeedsNoMemoryForANetworkThatNoDeviceHolds) {
  const Network network = Network::with_input_size(1 << 20)
                              .add_layer(LayerBuilder::dense(1 << 20))  // 4 TiB, which are drawn when they are needed
                              .random(Generator(seed(), {.device = host()}))
                              .build();
  const MemoryPrediction memory = predict_memory(network, 4);
  EXPECT_GE(memory.parameter_bytes, std::uint64_t{1} << 42);
  EXPECT_GE(memory.peak_bytes, 5 * (std::uint64_t{1} << 42)) << "parameters, gradients, state of Adam";
  EXPECT_ERROR(static_cast<void>(recommended_batch_size(network, host())), ErrorCode::allocation, "a batch of 1",
               "parameters");
}

TEST_F(PredictedMemory, RejectsWhatCannotBeTrained) {
  const Network network = build(mlp(), host());
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{-5}}) {
    EXPECT_ERROR(static_cast<void>(predict_memory(network, batch)), ErrorCode::invalid_input, "batch_size");
  }
  EXPECT_ERROR(static_cast<void>(predict_memory(network, std::int64_t{1} << 60)), ErrorCode::invalid_input, "2^56");
  const NetworkCase deep = with_layers("deep", {784}, std::vector(100, LayerBuilder::dense(784)), {});
  EXPECT_ERROR(static_cast<void>(predict_memory(build(deep, host()), std::int64_t{1} << 44)), ErrorCode::invalid_input,
               "2^62");
  EXPECT_ERROR(static_cast<void>(predict_memory(network, 1, {.accumulated_batches = 0})), ErrorCode::invalid_input,
               "accumulated_batches");
  Nothing nothing;
  EXPECT_ERROR(static_cast<void>(predict_memory(nothing, regression_loss, ones({2, 3}), ones({2, 3}), 4)),
               ErrorCode::invalid_input, "no parameters");
  EXPECT_ERROR(static_cast<void>(recommended_batch_size(nothing, regression_loss, ones({2, 3}), ones({2, 3}), host())),
               ErrorCode::invalid_input, "no parameters");
  Model model(Generator(seed(), {.device = host()}));
  EXPECT_ERROR(static_cast<void>(predict_memory(model, classification_loss, ones({2, 31}), ones({2, 4}), 4)),
               ErrorCode::invalid_input, "30");
  EXPECT_ERROR(static_cast<void>(predict_memory(model, classification_loss, ones({}), ones({2, 4}), 4)),
               ErrorCode::invalid_input, "counts the examples");
  EXPECT_EQ(model.forward(ones({1, 30})).eval().elements(), 4) << "the module is whole after errors";
}

TEST_F(PredictedMemory, CallsLossesThatReadAndKeepArrays) {
  Model model(Generator(seed(), {.device = host()}));
  const Tensor scale = ones({4}) * 2;  // not computed yet
  Tensor kept;
  Tensor kept_before_eval;
  int calls = 0;
  const EvaluateBatch evaluate = [&](const Batch& batch, const Mode& mode) -> BatchResult {
    ++calls;
    kept_before_eval = model.forward(batch[0], mode) * scale;
    const Tensor loss = mean(kept_before_eval);
    EXPECT_EQ(stop_gradient(loss).item(), 1) << "elements that are not computed read as 1";
    kept = stop_gradient(loss * 3).eval();
    EXPECT_ERROR(static_cast<void>(unique(kept_before_eval)), ErrorCode::unsupported, "not computed");
    EXPECT_ERROR(static_cast<void>(predict_memory(model, regression_loss, batch[0], batch[0], 4)),
                 ErrorCode::invalid_input, "already");
    return {.loss = loss};
  };
  EXPECT_GT(predict_memory(model, evaluate, {ones({1, 30})}, 16).peak_bytes, 0U);
  EXPECT_EQ(calls, 2);
  EXPECT_ERROR(static_cast<void>(kept.item()), ErrorCode::invalid_input, "memory was predicted");
  EXPECT_ERROR(static_cast<void>(sum(kept_before_eval).item()), ErrorCode::invalid_input, "memory was predicted");
  EXPECT_EQ(scale.to_cpu<float>(), std::vector<float>(4, 2)) << "what was recorded before is computed as always";
  EXPECT_EQ(model.forward(ones({2, 30})).eval().elements(), 8);
}

TEST_F(PredictedMemory, PassesOnWhatALossThrows) {
  Model model(Generator(seed(), {.device = host()}));
  const Tensor weight = model.hidden.weight;
  const EvaluateBatch evaluate = [&](const Batch& batch, const Mode& mode) -> BatchResult {
    static_cast<void>(model.forward(batch[0], mode).eval());
    throw std::runtime_error("the loss fails");
  };
  EXPECT_THROW(static_cast<void>(predict_memory(model, evaluate, {ones({1, 30})}, 16)), std::runtime_error);
  EXPECT_EQ(model.hidden.weight.node(), weight.node());
  EXPECT_EQ(sum(ones({100})).item(), 100) << "evaluations compute again";
}

TEST_F(PredictedMemory, RecommendsABatchThatFitsTheLimitOfThePool) {
  for (const std::uint64_t limit : {std::uint64_t{24} << 20, std::uint64_t{40} << 20, std::uint64_t{100} << 20}) {
    Network network = build(mlp(), host());
    nn::eval(network);
    ASSERT_TRUE(pool().set_max_pool_size(host().id(), limit));
    const std::int64_t batch = recommended_batch_size(network, host());
    EXPECT_GT(batch, 0);
    std::cout << "a limit of " << (limit >> 20U) << " MiB: a batch of " << batch << '\n';
    const Tensor data = numbers({batch * 2, 784}, host(), 0);
    const std::uint64_t bytes_of_data = pool().get_memory_stats(host().id())->in_use_bytes;
    ASSERT_TRUE(pool().set_max_pool_size(host().id(), limit + bytes_of_data));  // the data is not the training's
    const Tensor labels = numbers({batch * 2}, host(), 10);
    EXPECT_NO_THROW(
        static_cast<void>(train(network, data, labels, {.batch_size = batch, .max_epochs = 2, .device = host()})));
  }
  ASSERT_TRUE(pool().set_max_pool_size(host().id(), 1 << 20));
  EXPECT_ERROR(static_cast<void>(recommended_batch_size(build(norms(), host()), host())), ErrorCode::allocation,
               "a batch of 2", "1.0 MiB");
  EXPECT_ERROR(static_cast<void>(recommended_batch_size(build(mlp(), host()), host())), ErrorCode::allocation,
               "1.0 MiB", "a smaller module");
}

TEST_F(PredictedMemory, RecommendsAtMostWhatIsUsualWhereADeviceDoesNotReportItsMemory) {
  const NetworkCase small = with_layers("small", {8}, {}, {});
  EXPECT_EQ(recommended_batch_size(build(small, host()), host()), 1024);
  for (const std::string& name : other_devices()) {
    const Device other = device(name);
    const std::int64_t usual = name == "opencl" ? 64 : 1024;  // CUDA's driver reports what is free
    EXPECT_EQ(other.memory().has_value(), name != "opencl") << name;
    EXPECT_EQ(recommended_batch_size(build(small, host()), other), usual) << name;
    ASSERT_TRUE(pool().set_max_pool_size(other.id(), 20 << 20));
    EXPECT_LT(recommended_batch_size(build(cnn(), host()), other), usual) << name;
  }
}

}  // namespace vectis::test
