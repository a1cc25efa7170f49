#include "vectis/nn/training.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/nn/checkpoint.hpp"
#include "vectis/nn/dense.hpp"
#include "vectis/nn/dropout.hpp"
#include "vectis/nn/gradients.hpp"
#include "vectis/nn/network.hpp"
#include "vectis/nn/normalization.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Classifier {
  explicit Classifier(std::uint64_t seed = test::seed()) : random(seed) {}

  Tensor forward(const Tensor& x, const Mode& mode = {}) {
    return output.forward(dropout.forward(relu(norm.forward(hidden.forward(x, mode), mode)), mode), mode);
  }
  void visit(Visitor& visitor) {
    visitor.child("hidden", hidden);
    visitor.child("norm", norm);
    visitor.child("output", output);
  }

  Generator random;
  Dense hidden{2, 16, random};
  BatchNorm norm{16};
  Dropout dropout{0.1};
  Dense output{16, 3, random};
};

struct Points {
  Tensor x;
  Tensor labels;
};
// Three clouds of points around corners of a triangle.
Points clouds(std::int64_t count) {
  Generator random(test::seed() + 7);
  const Tensor labels = random.integers({count}, 0, 3);
  const Tensor centers = Tensor::from_cpu(std::vector<float>{0, 2, 2, -1, -2, -1}, {3, 2});
  return {take(centers, labels) + random.normal({count, 2}) * 0.5, labels};
}

std::vector<float> values_of(ModuleRef module) {
  std::vector<float> all;
  for (const NamedTensor& tensor : named_tensors(module)) {
    const std::vector<float> values = tensor.value->astype(DType::float32).to_cpu<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(TrainingTest, LearnsWithDefaults) {
  Classifier model;
  const auto [x, labels] = clouds(2000);
  const History history = train(model, classification_loss, x, labels, {.validation_split = 0.2});
  EXPECT_EQ(history.size(), 10U);
  EXPECT_LT(history.loss.back(), history.loss.front());
  EXPECT_GT(history.val_metrics.at("accuracy").back(), 0.9);
  const Evaluation again = evaluate(
      model,
      [&](const Batch& batch, const Mode& mode) {
        return classification_loss(model.forward(batch[0], mode), batch[1]);
      },
      split_data(x, labels, 0.2).validation, 7);
  EXPECT_NEAR(again.loss, history.val_loss.back(), 1e-5);
  EXPECT_NEAR(again.metrics.at("accuracy"), history.val_metrics.at("accuracy").back(), 1e-6);
}

// The loop by hand, which train() must equal.
TEST(TrainingTest, EqualsThePlainLoop) {
  const auto [x, labels] = clouds(50);
  Classifier trained;
  TrainingConfig config{.batch_size = 16, .max_epochs = 3, .seed = 5};
  config.optimizer = std::make_shared<AdamW>(AdamOptions{.learning_rate = 0.01});
  config.schedule = warm_up(4, cosine(20));
  config.clip_norm = 0.5;
  const History history = train(trained, classification_loss, x, labels, config);
  EXPECT_EQ(config.optimizer->learning_rate(), 0.01);

  Classifier model;
  Generator random(5);
  AdamW optimizer({.learning_rate = 0.01});
  Loader loader(std::make_shared<TensorDataset>(x, labels), {.batch_size = 16, .seed = 5});
  std::int64_t step = 0;
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    double sum = 0;
    for (const Batch& batch : loader) {
      auto [loss, gradients] = value_and_grad(
          model, [&] { return classification_loss(model.forward(batch[0], Mode::training(random)), batch[1]).loss; });
      static_cast<void>(clip_by_norm(gradients, 0.5));
      optimizer.set_learning_rate(0.01 * config.schedule(step++));
      optimizer.update(model, gradients);
      sum += loss.item() * static_cast<double>(batch[0].extent(0));
    }
    EXPECT_NEAR(history.loss[epoch], sum / 50, 1e-9);
  }
  EXPECT_EQ(values_of(model), values_of(trained));
}

TrainingConfig full_config(const std::string& checkpoint) {
  TrainingConfig config{.batch_size = 8, .max_epochs = 4, .seed = 3};
  config.optimizer = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.05, .momentum = 0.9});
  config.schedule = warm_up(10);
  config.plateau = PlateauOptions{.factor = 0.5, .patience = 0};
  config.early_stopping = EarlyStopping{.patience = 3};
  config.validation_split = 0.25;
  config.accumulated_batches = 2;
  config.checkpoint_path = checkpoint;
  config.checkpoint_interval = 1;
  return config;
}

// Ends training at a batch, as a failure would.
class Interruption final : public TrainingObserver {
 public:
  explicit Interruption(int batches) : left_(batches) {}
  void on_batch(const BatchProgress& /*progress*/) override {
    if (left_-- == 0) throw std::runtime_error("interrupted");
  }
  void on_epoch(const Epoch& /*epoch*/, std::int64_t /*epochs*/) override {}
  void on_end() override {}

 private:
  int left_;
};

void expect_equal(const History& a, const History& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.val_loss, b.val_loss);
  EXPECT_EQ(a.metrics, b.metrics);
  EXPECT_EQ(a.val_metrics, b.val_metrics);
  EXPECT_EQ(a.learning_rate, b.learning_rate);
}

TEST(TrainingTest, ContinuesBitForBitFromAnyBatch) {
  const test::TemporaryFolder folder;
  const auto [x, labels] = clouds(60);
  for (const std::optional<DType> type : {std::optional<DType>(), std::optional(DType::float16)}) {
    Classifier expected;
    TrainingConfig plain = full_config("");
    plain.mixed_precision = type;
    const History history = train(expected, classification_loss, x, labels, plain);
    // 6 batches are an epoch.
    for (const int batches : {0, 1, 4, 5, 6, 7, 11, 12, 23}) {
      const std::string path = folder.path("run.ckpt");
      std::filesystem::remove(path);
      TrainingConfig interrupted = full_config(path);
      interrupted.mixed_precision = type;
      interrupted.observers = {std::make_shared<Interruption>(batches)};
      Classifier first;
      EXPECT_THROW(train(first, classification_loss, x, labels, interrupted), std::runtime_error);
      Classifier second(99);  // other initial values, which the checkpoint replaces
      if (!std::filesystem::exists(path)) second = Classifier();
      TrainingConfig resumed = full_config(path);
      resumed.mixed_precision = type;
      expect_equal(train(second, classification_loss, x, labels, resumed), history);
      EXPECT_EQ(values_of(second), values_of(expected)) << "after " << batches << " batches";
    }
  }
}

TEST(TrainingTest, AFinishedRunOnlyLoads) {
  const test::TemporaryFolder folder;
  const auto [x, labels] = clouds(60);
  Classifier model;
  const History history = train(model, classification_loss, x, labels, full_config(folder.path("run.ckpt")));
  Classifier other(99);
  expect_equal(train(other, classification_loss, x, labels, full_config(folder.path("run.ckpt"))), history);
  EXPECT_EQ(values_of(other), values_of(model));
  TrainingConfig changed = full_config(folder.path("run.ckpt"));
  changed.batch_size = 9;
  EXPECT_ERROR(train(other, classification_loss, x, labels, changed), ErrorCode::invalid_input, "batch_size 8",
               "9 now");
  changed = full_config(folder.path("run.ckpt"));
  changed.optimizer = nullptr;
  EXPECT_ERROR(train(other, classification_loss, x, labels, changed), ErrorCode::invalid_input, "optimizer sgd",
               "adam");
}

// Saves a training, changes its checkpoint, and returns the error of training that continues from it with `config`.
// Module and optimizer must be as they were.
std::string error_of_resuming(const std::function<void(Checkpoint&)>& change, TrainingConfig config,
                              std::int64_t examples = 60) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("run.ckpt");
  const auto [x, labels] = clouds(60);
  Classifier saved;
  static_cast<void>(train(saved, classification_loss, x, labels, full_config(path)));
  Checkpoint checkpoint = load_checkpoint(path);
  change(checkpoint);
  save_checkpoint(path, checkpoint);
  config.checkpoint_path = path;
  Classifier model(99);
  const std::vector<float> before = values_of(model);
  const std::size_t state_before = config.optimizer->state_dict().size();
  const double rate = config.optimizer->learning_rate();
  std::string message = "nothing was thrown";
  try {
    train(model, classification_loss, slice(x, 0, {.stop = examples}), slice(labels, 0, {.stop = examples}), config);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    message = error.what();
  }
  EXPECT_EQ(values_of(model), before);
  EXPECT_EQ(config.optimizer->state_dict().size(), state_before);
  EXPECT_EQ(config.optimizer->learning_rate(), rate);
  return message;
}

TEST(TrainingTest, RefusesCheckpointsOfOtherTrainings) {
  const auto nothing = [](Checkpoint&) {};
  const auto sgd = [](const SgdOptions& options) {
    TrainingConfig config = full_config("");
    config.optimizer = std::make_shared<Sgd>(options);
    return config;
  };
  EXPECT_THAT(error_of_resuming(nothing, full_config(""), 57), HasSubstr("with examples 45, but it is 43 now"));
  EXPECT_THAT(error_of_resuming(nothing, full_config(""), 59), HasSubstr("validation_examples 15, but it is 14 now"));
  EXPECT_THAT(error_of_resuming(nothing, sgd({.learning_rate = 1e-6, .momentum = 0.9})),
              HasSubstr("learning_rate 0.05, but it is 1e-06 now"));
  EXPECT_THAT(error_of_resuming(nothing, sgd({.learning_rate = 0.05, .momentum = 0.5})),
              HasSubstr("momentum 0.9, but it is 0.5 now"));
}

TEST(TrainingTest, RefusesDamagedCheckpointsAndChangesNothing) {
  const auto error = [](const std::function<void(Checkpoint&)>& change) {
    return error_of_resuming(change, full_config(""));
  };
  EXPECT_THAT(error([](Checkpoint& c) { c.numbers["config.learning_rate"] = NAN; }), HasSubstr("learning_rate nan"));
  EXPECT_THAT(error([](Checkpoint& c) { c.integers["updates"] = -1; }), HasSubstr("updates in the checkpoint is -1"));
  const auto replace = [](Checkpoint& checkpoint, std::string_view name, const Tensor& value) {
    StateDict tensors;
    for (const auto& [other, tensor] : checkpoint.tensors) tensors.add(other, other == name ? value : tensor);
    checkpoint.tensors = tensors;
  };
  EXPECT_THAT(error([&](Checkpoint& c) { replace(c, "optimizer.learning_rate", array::full({}, NAN)); }),
              HasSubstr("the learning rate is nan"));
  EXPECT_THAT(error([&](Checkpoint& c) { replace(c, "module.hidden.weight", array::zeros({1})); }),
              HasSubstr("hidden.weight"));
}

TEST(TrainingTest, StopsEarlyAndRestoresTheBestEpoch) {
  const auto [x, labels] = clouds(60);
  Classifier model;
  std::vector<std::vector<float>> after;
  struct Recorder final : TrainingObserver {
    Recorder(Classifier& m, std::vector<std::vector<float>>& v) : model(m), values(v) {}
    void on_batch(const BatchProgress& /*progress*/) override {}
    void on_epoch(const Epoch& /*epoch*/, std::int64_t /*epochs*/) override { values.push_back(values_of(model)); }
    void on_end() override { ended = true; }
    Classifier& model;
    std::vector<std::vector<float>>& values;
    bool ended = false;
  };
  const auto recorder = std::make_shared<Recorder>(model, after);
  TrainingConfig config{.max_epochs = 200, .validation_split = 0.3};
  config.optimizer = std::make_shared<Sgd>(SgdOptions{.learning_rate = 3});  // far too large
  config.early_stopping = EarlyStopping{.patience = 2};
  config.observers = {recorder};
  const History history = train(model, classification_loss, x, labels, config);
  ASSERT_LT(history.size(), 200U);
  const auto best = static_cast<std::size_t>(std::ranges::min_element(history.val_loss) - history.val_loss.begin());
  EXPECT_EQ(history.size(), best + 4);  // the best, two that are tolerated, and the one that ends
  EXPECT_EQ(values_of(model), after[best]);
  EXPECT_TRUE(recorder->ended);
}

TEST(TrainingTest, Learns16BitNetworks) {
  const auto [x, labels] = clouds(300);
  Classifier exact;
  const History expected = train(exact, classification_loss, x, labels, {});
  EXPECT_LT(expected.loss.back(), 0.9 * expected.loss.front());
  for (const DType type : {DType::float16, DType::bfloat16}) {
    Classifier model;
    const History history = train(model, classification_loss, x, labels, {.mixed_precision = type});
    EXPECT_NEAR(history.loss.back(), expected.loss.back(), 0.02);
    EXPECT_NEAR(history.metrics.at("accuracy").back(), expected.metrics.at("accuracy").back(), 0.04);
    EXPECT_EQ(model.hidden.weight.dtype(), DType::float32);
  }
}

TEST(TrainingTest, RecordsLossesBeyondFloat32) {
  Network network = Network::with_input_size(1).add_layer(LayerBuilder::dense(1)).build();
  convert_to(network, DType::float64);
  *parameters(network)[0] = array::ones({1, 1}, DType::float64);
  *parameters(network)[1] = array::zeros({1}, DType::float64);
  const Tensor x = array::full({4, 1}, 1e25, DType::float64);
  const Evaluation result = evaluate(network, x, array::zeros({4, 1}, DType::float64));
  EXPECT_NEAR(result.loss / 1e50, 1, 1e-12);
  EXPECT_NEAR(result.metrics.at("mae") / 1e25, 1, 1e-12);
}

TEST(TrainingTest, WritesProgressToAStreamOnly) {
  const auto [x, labels] = clouds(20);
  std::ostringstream out;
  Classifier model;
  TrainingConfig config{.max_epochs = 2, .verbose = &out};
  static_cast<void>(train(model, classification_loss, x, labels, config));
  EXPECT_THAT(out.str(), HasSubstr("epoch 2/2"));
  EXPECT_THAT(out.str(), HasSubstr("accuracy"));
}

TEST(TrainingTest, CanBeCancelled) {
  const auto [x, labels] = clouds(20);
  Classifier model;
  CancelSource source;
  source.cancel();
  EXPECT_ERROR(train(model, classification_loss, x, labels, {}, Context{}.with_cancel(source)), ErrorCode::cancelled,
               "train");
  std::uint64_t done = 0;
  const Context watched = Context{}.with_progress([&](const Progress& progress) {
    EXPECT_EQ(progress.total, 20U);
    done = progress.done;
  });
  static_cast<void>(train(model, classification_loss, x, labels, {.batch_size = 10}, watched));
  EXPECT_EQ(done, 20U);
}

TEST(TrainingTest, ShortMemoryNamesABatchSizeThatFits) {
  Runtime runtime;
  Generator random(test::seed(), {.runtime = &runtime});
  struct Wide {
    Dense first;
    Dense second;
    Tensor forward(const Tensor& x, const Mode& mode = {}) {
      return second.forward(tanh(first.forward(x, mode)), mode);
    }
    void visit(Visitor& visitor) {
      visitor.child("first", first);
      visitor.child("second", second);
    }
  } model{Dense(4, 4096, random), Dense(4096, 3, random)};
  eval(ModuleRef(model));
  const Tensor x = random.normal({256, 4});
  const Tensor labels = random.integers({256}, 0, 3);
  array::eval(std::vector<Tensor>{x, labels});
  ASSERT_TRUE(memory_pool(runtime).set_max_pool_size(0, 6 << 20));
  const std::vector<float> before = values_of(model);
  std::string message;
  try {
    train(model, classification_loss, x, labels, {.batch_size = 256, .max_epochs = 1});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::allocation);
    message = error.what();
  }
  ASSERT_THAT(message, HasSubstr("batch of 256 examples; a batch of "));
  const std::int64_t fits = std::stoll(message.substr(message.find("a batch of", message.find(';')) + 11));
  EXPECT_GE(fits, 1);
  EXPECT_LT(fits, 256);
  EXPECT_EQ(values_of(model), before);
  const TrainingConfig smaller{.batch_size = fits, .max_epochs = 1, .accumulated_batches = 256 / fits};
  EXPECT_EQ(train(model, classification_loss, x, labels, smaller).size(), 1U);
}

// The search for a batch size meets another error: batches of one example have no variance.
TEST(TrainingTest, ShortMemoryWithoutASizeThatFitsChangesNothing) {
  Runtime runtime;
  Generator random(test::seed(), {.runtime = &runtime});
  struct Wide {
    Dense first;
    BatchNorm norm;
    Tensor forward(const Tensor& x, const Mode& mode = {}) { return norm.forward(tanh(first.forward(x, mode)), mode); }
    void visit(Visitor& visitor) {
      visitor.child("first", first);
      visitor.child("norm", norm);
    }
  } model{Dense(4, 1 << 16, random), BatchNorm(1 << 16, {.where = random.options()})};
  eval(ModuleRef(model));
  const Tensor x = random.normal({8, 4});
  array::eval(std::vector<Tensor>{x});
  ASSERT_TRUE(memory_pool(runtime).set_max_pool_size(0, 9 << 20));
  const std::vector<float> before = values_of(model);
  const LossAndMetrics loss = [](const Tensor& y, const Tensor&) { return BatchResult{.loss = mean(square(y))}; };
  TrainingConfig config{.batch_size = 8, .max_epochs = 1};
  config.optimizer = std::make_shared<Adam>();
  std::string message;
  try {
    train(model, loss, x, x, config);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::allocation);
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("batch of 8 examples; a batch of 1 fails otherwise: [batch_norm]"));
  EXPECT_EQ(values_of(model), before);
  EXPECT_EQ(config.optimizer->state_dict().size(), 1U);
}

TEST(TrainingTest, ValidationSplitHoldsForDataSets) {
  const auto [x, labels] = clouds(40);
  const auto examples = std::make_shared<const TensorDataset>(x, labels);
  Classifier first;
  Classifier second;
  const auto step_of = [](Classifier& model) {
    return [&model](const Batch& batch, const Mode& mode) {
      return classification_loss(model.forward(batch[0], mode), batch[1]);
    };
  };
  const TrainingConfig config{.max_epochs = 2, .validation_split = 0.25};
  const History history = train(ModuleRef(first), step_of(first), examples, nullptr, config);
  expect_equal(history, train(second, classification_loss, x, labels, config));
  EXPECT_EQ(history.val_loss.size(), 2U);
  EXPECT_ERROR(train(ModuleRef(first), step_of(first), examples, examples, {.validation_split = 7}),
               ErrorCode::invalid_input, "validation_split is 7");
}

TEST(TrainingTest, FrozenModulesCanBeEvaluated) {
  struct Frozen {
    Dense layer;
    void visit(Visitor& visitor) { visitor.buffer("weight", layer.weight); }
  };
  Generator random(test::seed());
  Frozen frozen{Dense(2, 3, random)};
  const auto [x, labels] = clouds(40);
  const EvaluateBatch step = [&](const Batch& batch, const Mode& mode) {
    return classification_loss(frozen.layer.forward(batch[0], mode), batch[1]);
  };
  const auto examples = std::make_shared<const TensorDataset>(x, labels);
  const double expected = cross_entropy(frozen.layer.forward(x), labels).item();
  EXPECT_NEAR(evaluate(ModuleRef(frozen), step, examples, 7).loss, expected, 1e-5);
  struct Nothing {
    void visit(Visitor& /*visitor*/) {}
  } nothing;
  EXPECT_NEAR(evaluate(ModuleRef(nothing), step, examples, 7).loss, expected, 1e-5);
  EXPECT_ERROR(train(ModuleRef(frozen), step, examples, nullptr), ErrorCode::invalid_input, "no parameters");
}

TEST(TrainingTest, ReportsACheckpointThatCannotBeWrittenAtTheStart) {
  const test::TemporaryFolder folder;
  const auto [x, labels] = clouds(20);
  Classifier model;
  const std::vector<float> before = values_of(model);
  EXPECT_ERROR(train(model, classification_loss, x, labels, {.checkpoint_path = folder.path("none/run.ckpt")}),
               ErrorCode::io, "none/run.ckpt");
  EXPECT_EQ(values_of(model), before);
}

TEST(TrainingTest, DropLastLeavesOutABatchWithoutVariance) {
  const auto [x, labels] = clouds(33);
  Classifier model;
  EXPECT_ERROR(train(model, classification_loss, x, labels, {.max_epochs = 1}), ErrorCode::invalid_input, "batch_norm");
  EXPECT_EQ(train(model, classification_loss, x, labels, {.max_epochs = 1, .drop_last = true}).size(), 1U);
  EXPECT_ERROR(train(model, classification_loss, x, labels, {.batch_size = 64, .drop_last = true}),
               ErrorCode::invalid_input, "33 examples are no batch of 64");
}

TEST(TrainingTest, WarnsWhenEveryBatchOfAnEpochOverflows) {
  Runtime runtime;
  std::vector<std::string> warnings;
  runtime.set_log_handler([&](const LogRecord& record) { warnings.emplace_back(record.message); });
  Generator random(test::seed(), {.runtime = &runtime});
  Network network = Network::with_input_size(3).add_layer(LayerBuilder::dense(2)).random(random).build();
  const Tensor x = random.normal({64, 3});
  const Tensor targets = array::zeros({64, 2}, DType::float32, {.runtime = &runtime});
  TrainingConfig config{.batch_size = 16, .max_epochs = 1, .mixed_precision = DType::float16};
  static_cast<void>(train(network, x, targets, config));
  EXPECT_TRUE(warnings.empty());
  static_cast<void>(train(network, x * 1e5, targets, config));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("all 4 batches of epoch 1 overflowed float16"));
}

TEST(TrainingTest, TrainsNetworksWithTheirLoss) {
  const auto [x, labels] = clouds(1000);
  const auto classifier = [](LossFunction loss) {
    return Network::with_input_size(2)
        .add_layer(LayerBuilder::dense(16).activation(ActivationFunction::ReLU))
        .add_layer(LayerBuilder::dense(3).activation(ActivationFunction::Softmax))
        .loss(loss)
        .build();
  };
  TrainingConfig config{.max_epochs = 15, .validation_split = 0.2};
  for (const LossFunction loss : {LossFunction::CategoricalCrossEntropy, LossFunction::SparseCategoricalCrossEntropy}) {
    Network network = classifier(loss);
    const History history = train(network, x, labels, config);
    EXPECT_GT(history.val_metrics.at("accuracy").back(), 0.9);
    EXPECT_NEAR(evaluate(network, x, labels).metrics.at("accuracy"), 0.95, 0.06);
  }
  Network binary = Network::with_input_size(2)
                       .add_layer(LayerBuilder::dense(1).activation(ActivationFunction::Sigmoid))
                       .loss(LossFunction::BinaryCrossEntropy)
                       .build();
  const Tensor is_top = equal(labels, 0).astype(DType::float32).reshape({-1, 1});
  EXPECT_GT(train(binary, x, is_top, {.max_epochs = 30}).metrics.at("accuracy").back(), 0.9);
  Network line = Network::with_input_size(2).add_layer(LayerBuilder::dense(1)).build();
  const Tensor target = sum(x, {1}, true) * 0.5;
  EXPECT_LT(train(line, x, target, {.max_epochs = 60}).metrics.at("mae").back(), 0.1);
}

TEST(TrainingTest, RejectsWhatDoesNotFit) {
  const auto [x, labels] = clouds(20);
  Classifier model;
  const auto attempt = [&](const TrainingConfig& config) { train(model, classification_loss, x, labels, config); };
  EXPECT_ERROR(attempt({.batch_size = 0}), ErrorCode::invalid_input, "batch_size");
  EXPECT_ERROR(attempt({.validation_split = 1}), ErrorCode::invalid_input, "validation_split is 1");
  EXPECT_ERROR(attempt({.validation_split = 0.01}), ErrorCode::invalid_input, "0.01 of 20");
  EXPECT_ERROR(attempt({.accumulated_batches = 0}), ErrorCode::invalid_input, "accumulated_batches");
  EXPECT_ERROR(attempt({.mixed_precision = DType::int8}), ErrorCode::invalid_input, "int8");
  EXPECT_ERROR(attempt({.clip_norm = NAN}), ErrorCode::invalid_input, "clip_norm is nan");
  EXPECT_ERROR(attempt({.early_stopping = EarlyStopping{.min_improvement = NAN}}), ErrorCode::invalid_input,
               "min_improvement is nan");
  EXPECT_ERROR(attempt({.observers = {nullptr}}), ErrorCode::invalid_input, "observer is null");
  EXPECT_ERROR(train(model, classification_loss, array::zeros({0, 2}), array::zeros({0}, DType::int32)),
               ErrorCode::invalid_input, "no examples");
  EXPECT_ERROR(train(model, classification_loss, x, array::zeros({20, 2})), ErrorCode::invalid_input);
  const LossAndMetrics wide = [](const Tensor& p, const Tensor&) {
    return BatchResult{.loss = sum(p), .metrics = {{"m", p}}};
  };
  EXPECT_ERROR(train(model, wide, x, labels), ErrorCode::invalid_input, "metric.m", "one number");
  const auto examples = std::make_shared<const TensorDataset>(x, labels);
  EXPECT_ERROR(train(ModuleRef(model), EvaluateBatch(), examples, nullptr), ErrorCode::invalid_input, "EvaluateBatch");
  EXPECT_ERROR(evaluate(ModuleRef(model), EvaluateBatch(), examples), ErrorCode::invalid_input, "EvaluateBatch");
  Network network = Network::with_input_size(2).add_layer(LayerBuilder::dense(1)).build();
  const auto one_field = std::make_shared<const TensorDataset>(std::vector<Tensor>{x});
  EXPECT_ERROR(train(ModuleRef(network), loss_of(network), one_field, nullptr), ErrorCode::invalid_input, "1 fields");
  const LossAndMetrics loss = classification_loss;
  EXPECT_ERROR(train(ModuleRef(model), evaluate_by(model, loss), one_field, nullptr), ErrorCode::invalid_input,
               "1 fields");
}

TEST(MetricsTest, AccuracyOfClassesAndProbabilities) {
  const Tensor logits = Tensor::from_cpu(std::vector<float>{1, 2, 3, 0, 5, 1}, {3, 2});
  EXPECT_NEAR(accuracy(logits, Tensor::from_cpu(std::vector<std::int64_t>{1, 0, 1}, {3})).item(), 2.0 / 3, 1e-6);
  EXPECT_NEAR(accuracy(logits, Tensor::from_cpu(std::vector<float>{0, 1, 0, 1, 1, 0}, {3, 2})).item(), 2.0 / 3, 1e-6);
  EXPECT_ERROR(static_cast<void>(accuracy(logits, array::zeros({2}, DType::int32))), ErrorCode::invalid_input, "(2,)");
  EXPECT_ERROR(static_cast<void>(accuracy(array::zeros({2}), array::zeros({2}))), ErrorCode::invalid_input, "(2,)");
}

// Each element is a prediction of its own.
TEST(MetricsTest, AccuracyOfSequencesIsThatOfTheirElements) {
  Generator random(test::seed());
  const Tensor rows = random.normal({2 * 7, 3});
  const Tensor classes = random.integers({2 * 7}, 0, 3);
  const Tensor shares = random.uniform({2 * 7, 3});
  const auto as_sequences = [](const Tensor& x) { return moveaxis(x.reshape({2, 7, 3}), -1, 1); };
  EXPECT_EQ(accuracy(as_sequences(rows), classes.reshape({2, 7})).item(), accuracy(rows, classes).item());
  EXPECT_EQ(accuracy(as_sequences(rows), as_sequences(shares)).item(), accuracy(rows, shares).item());
  Network network = Network::with_input_shape({7, 3})
                        .add_layer(LayerBuilder::dense(4).activation(ActivationFunction::Softmax))
                        .loss(LossFunction::CategoricalCrossEntropy)
                        .build();
  const Tensor x = rows.reshape({2, 7, 3});
  const Tensor labels = classes.reshape({2, 7});
  const double expected = mean(equal(argmax(network.forward(x), -1), labels).astype(DType::float32)).item();
  EXPECT_NEAR(evaluate(network, x, labels).metrics.at("accuracy"), expected, 1e-6);
  const Tensor one_hot = equal(expand_dims(labels, -1), array::arange(0, 4)).astype(DType::float32);
  EXPECT_NEAR(evaluate(network, x, one_hot).metrics.at("accuracy"), expected, 1e-6);
}

TEST(MetricsTest, BinaryAccuracyIsOfProbabilitiesAlsoWithoutSigmoid) {
  for (const ActivationFunction function : {ActivationFunction::Sigmoid, ActivationFunction::Linear}) {
    Network network = Network::with_input_size(1)
                          .add_layer(LayerBuilder::dense(1).activation(function))
                          .loss(LossFunction::BinaryCrossEntropy)
                          .build();
    *parameters(network)[0] = array::ones({1, 1});
    *parameters(network)[1] = array::zeros({1});
    const Tensor x = Tensor::from_cpu(std::vector<float>{0.1F, 0.2F, 0.4F, -1}, {4, 1});
    const Tensor labels = Tensor::from_cpu(std::vector<float>{1, 1, 1, 0}, {4, 1});
    EXPECT_EQ(evaluate(network, x, labels).metrics.at("accuracy"), 1) << name(function);
  }
}

}  // namespace
}  // namespace vectis::nn
