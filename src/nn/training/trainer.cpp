#include "nn/training/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "nn/check.hpp"
#include "nn/training/device_choice.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view train_op = "train";

void check_evaluate(std::string_view op, const EvaluateBatch& evaluate) {
  if (evaluate) return;
  throw_invalid(op, "there is no function of loss and metrics; give an EvaluateBatch that is not empty");
}

void check_config(const TrainingConfig& config, const EvaluateBatch& evaluate, const Dataset* training) {
  check_evaluate(train_op, evaluate);
  check_min(train_op, "batch_size", config.batch_size);
  check_min(train_op, "max_epochs", config.max_epochs, 0);
  check_min(train_op, "accumulated_batches", config.accumulated_batches);
  check_split(config.validation_split);
  check_min(train_op, "checkpoint_interval", config.checkpoint_interval, 0);
  if (config.early_stopping) {
    check_min(train_op, "patience", config.early_stopping->patience, 0);
    check_not_negative(train_op, "min_improvement", config.early_stopping->min_improvement);
  }
  if (config.clip_norm && !(*config.clip_norm > 0)) {
    throw_invalid(train_op, fmt::format("clip_norm is {}, it must be above 0", *config.clip_norm));
  }
  if (std::ranges::find(config.observers, nullptr) != config.observers.end()) {
    throw_invalid(train_op, "an observer is null; leave it out");
  }
  if (training == nullptr || training->size() == 0) {
    throw_invalid(train_op, "there are no examples for training; give a data set with at least one");
  }
}

// Returns a tensor that has the device and Runtime of the module: a parameter, or a buffer when all are frozen; null
// without tensors.
const Tensor* any_tensor(ModuleRef module) {
  const std::vector<NamedTensor> all = named_tensors(module);
  if (all.empty()) return nullptr;
  const auto parameter = std::ranges::find(all, TensorRole::parameter, &NamedTensor::role);
  return parameter == all.end() ? all.front().value : parameter->value;
}

const Tensor& first_parameter(ModuleRef module) {
  const std::vector<Tensor*> all = parameters(module);
  if (all.empty()) throw_invalid(train_op, "the module has no parameters; name them in its visit()");
  return *all.front();
}

LoaderOptions loader_options(const TrainingConfig& config, const Device& device, Runtime& runtime) {
  return {.batch_size = config.batch_size,
          .shuffle = config.shuffle,
          .seed = config.seed,
          .drop_last = config.drop_last,
          .prefetch = config.prefetch,
          .device = device,
          .runtime = &runtime};
}

std::int64_t examples_of(const Batch& batch) {
  if (batch.empty() || batch[0].rank() == 0) {
    throw_invalid(train_op, "a batch has no field whose first axis counts the examples");
  }
  return batch[0].extent(0);
}

Batch first_examples(const Batch& batch, std::int64_t count) {
  Batch part;
  for (const Tensor& field : batch) part.push_back(slice(field, 0, {.stop = count}));
  return part;
}

}  // namespace

Trainer::Trainer(ModuleRef module, const EvaluateBatch& evaluate, const std::shared_ptr<const Dataset>& training,
                 const std::shared_ptr<const Dataset>& validation, const TrainingConfig& config, const Context& context)
    : module_((check_config(config, evaluate, training.get()), module)),
      evaluate_(evaluate),
      validation_(validation),
      config_(config),
      context_(context),
      optimizer_(config.optimizer ? config.optimizer : std::make_shared<Adam>()),
      base_rate_(optimizer_->learning_rate()),
      observers_(config.observers),
      home_(first_parameter(module).device()),
      device_(device_for_training(module, evaluate, *training, config)),
      runtime_(array::runtime_of(first_parameter(module))),
      loader_(training, loader_options(config, device_, runtime_)),
      random_(config.seed, {.device = device_}),
      epoch_begin_(runtime_.executor().now()) {
  if (loader_.batches() == 0) {
    throw_invalid(train_op, fmt::format("{} examples are no batch of {}, and drop_last leaves out smaller ones; lower "
                                        "batch_size",
                                        training->size(), config.batch_size));
  }
  if (config.mixed_precision) mixed_.emplace(*config.mixed_precision);
  if (config.plateau) plateau_.emplace(*config.plateau);
  if (config.verbose != nullptr) {
    observers_.push_back(std::make_shared<ProgressBar>(*config.verbose, runtime_.os().stdout_is_terminal()));
  }
}

Trainer::~Trainer() {
  try {
    optimizer_->set_learning_rate(base_rate_);
    move_home();
  } catch (const std::exception& error) {  // only when run() has thrown
    runtime_.logger().log(LogLevel::warning, train_op,
                          fmt::format("the module stays on {}: {}", device_.label(), error.what()));
  }
}

void Trainer::move_home() {
  if (!config_.device && device_ != home_) move_to(module_, home_);
}

History Trainer::run() {
  if (!config_.checkpoint_path.empty()) AtomicFileWriter{config_.checkpoint_path};  // throws when it cannot be written
  if (config_.device || device_ != home_) move_to(module_, device_);
  const bool has_checkpoint =
      !config_.checkpoint_path.empty() && runtime_.os().access(config_.checkpoint_path) != FileAccess::absent;
  if (has_checkpoint) load();
  while (static_cast<std::int64_t>(history_.size()) < config_.max_epochs && !has_stopped()) run_epoch();
  restore_best();
  move_home();
  for (const auto& observer : observers_) observer->on_end();
  return std::move(history_);
}

void Trainer::run_epoch() {
  epoch_begin_ = runtime_.executor().now();
  const auto number = static_cast<std::int64_t>(history_.size());
  const std::int64_t batches = loader_.batches();
  while (const std::optional<Batch> batch = loader_.next()) {
    context_.check(train_op, runtime_.executor());
    train_batch(*batch);
    const std::int64_t done = loader_.position().batch;
    for (const auto& observer : observers_) {
      observer->on_batch(
          {.epoch = number, .epochs = config_.max_epochs, .batch = done, .batches = batches, .seconds = seconds()});
    }
    context_.report_progress(train_op, static_cast<std::uint64_t>(number * batches + done),
                             static_cast<std::uint64_t>(config_.max_epochs * batches));
    ++batches_since_save_;
    const bool is_due = config_.checkpoint_interval > 0 && batches_since_save_ >= config_.checkpoint_interval;
    if (is_due && accumulator_.count() == 0 && done < batches) save();
  }
  if (accumulator_.count() > 0) update();
  report_overflows();
  const Epoch epoch = finish_epoch();
  history_.add(epoch);
  means_.clear();
  seconds_before_ = 0;
  for (const auto& observer : observers_) observer->on_epoch(epoch, config_.max_epochs);
  save();
}

LossAndGradients Trainer::compute(const Batch& batch, BatchResult& result, bool& is_finite) {
  is_finite = true;
  const auto loss = [&] {
    result = evaluate_(batch, Mode::training(random_));
    return result.loss;
  };
  if (!mixed_) return value_and_grad(module_, loss);
  std::optional<LossAndGradients> computed = mixed_->value_and_grad(module_, loss);
  is_finite = computed.has_value();
  return computed ? *std::move(computed) : LossAndGradients{};
}

std::vector<Tensor> Trainer::compute_gradients(const Batch& batch, BatchResult& result, bool& is_finite) {
  LossAndGradients computed = compute(batch, result, is_finite);
  if (is_finite) {
    result.loss = computed.loss;
    std::vector<Tensor> all = computed.gradients;
    all.push_back(computed.loss);
    for (const auto& [name, value] : result.metrics) all.push_back(value);
    array::eval(all);
  }
  for (const Tensor* buffer : buffers(module_)) buffer->eval();
  return std::move(computed.gradients);
}

void Trainer::train_batch(const Batch& batch) {
  add_gradients(batch);
  if (accumulator_.count() == config_.accumulated_batches) update();
}

void Trainer::add_gradients(const Batch& batch) {
  Batch fields = batch;
  const std::int64_t examples = examples_of(batch);
  if (mixed_ && is_real(fields[0].dtype())) fields[0] = fields[0].astype(mixed_->type());
  const StateDict before = state_dict(module_);
  const Generator::State random_before = random_.state();
  try {
    BatchResult result;
    bool is_finite = true;
    const std::vector<Tensor> gradients = compute_gradients(fields, result, is_finite);
    if (is_finite) {
      if (watch_) watch_(gradients);
      accumulator_.add(gradients);
      if (watch_) watch_(accumulator_.sums());
    }
    ++(is_finite ? finite_batches_ : overflowed_batches_);
    means_.add(result, examples);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::allocation) throw;
    load_state_dict(module_, before);
    random_.set_state(random_before);
    throw_batch_too_large(fields, error);
  }
}

void Trainer::update() {
  std::vector<Tensor> gradients = accumulator_.take();
  if (config_.clip_norm) static_cast<void>(clip_by_norm(gradients, *config_.clip_norm));
  rate_ = base_rate_ * (config_.schedule ? config_.schedule(updates_) : 1) * (plateau_ ? plateau_->factor() : 1);
  optimizer_->set_learning_rate(rate_);
  optimizer_->update(module_, gradients);
  ++updates_;
}

void Trainer::report_overflows() {
  const bool nothing_trained = finite_batches_ == 0 && overflowed_batches_ > 0;
  if (nothing_trained) {
    runtime_.logger().log(
        LogLevel::warning, train_op,
        fmt::format("gradients of all {} batches of epoch {} overflowed {}, and no parameter was changed; scale the "
                    "inputs down, or use bfloat16",
                    overflowed_batches_, history_.size() + 1, vectis::name(mixed_->type())));
  }
  finite_batches_ = 0;
  overflowed_batches_ = 0;
}

void Trainer::try_step(const Batch& batch) {
  GradientAccumulator accumulator;
  for (int i = 0; i < 2; ++i) {
    BatchResult result;
    bool is_finite = true;
    const std::vector<Tensor> gradients = compute_gradients(batch, result, is_finite);
    if (is_finite) accumulator.add(gradients);
  }
  if (accumulator.count() == 0) return;
  std::vector<Tensor> gradients = accumulator.take();
  if (config_.clip_norm) static_cast<void>(clip_by_norm(gradients, *config_.clip_norm));
  optimizer_->update(module_, gradients);
}

std::int64_t Trainer::find_batch_size(const Batch& batch, std::string& problem) {
  const StateDict before = state_dict(module_);
  const StateDict optimizer_before = optimizer_->state_dict();
  const Generator::State random_before = random_.state();
  const std::optional<MixedPrecision> mixed_before = mixed_;
  const auto restore = [&] {
    load_state_dict(module_, before);
    optimizer_->load_state_dict(optimizer_before);
    random_.set_state(random_before);
    mixed_ = mixed_before;
  };
  std::int64_t count = examples_of(batch) / 2;
  for (; count > 0; count /= 2) {
    try {
      try_step(first_examples(batch, count));
      restore();
      return count;
    } catch (const Error& error) {
      restore();
      if (error.code() == ErrorCode::allocation) continue;
      problem = fmt::format("a batch of {} fails otherwise: {}", count, error.what());
      return 0;
    } catch (...) {
      restore();
      throw;
    }
  }
  problem = "not even a batch of 1 fits: use a smaller module or a device with more memory";
  return 0;
}

void Trainer::throw_batch_too_large(const Batch& batch, const Error& error) {
  const std::int64_t examples = examples_of(batch);
  std::string advice;
  const std::int64_t fits = find_batch_size(batch, advice);
  if (fits > 0) {
    advice = fmt::format("a batch of {} fits: set batch_size to {}, and accumulated_batches to {} for the same updates",
                         fits, fits, (examples + fits - 1) / fits * config_.accumulated_batches);
  }
  throw Error(ErrorCode::allocation, train_op,
              fmt::format("memory is short for a batch of {} examples; {}", examples, advice), error.what());
}

Epoch Trainer::finish_epoch() {
  const Evaluation training = means_.means();
  Epoch epoch{.number = static_cast<std::int64_t>(history_.size()),
              .loss = training.loss,
              .metrics = training.metrics,
              .learning_rate = rate_,
              .seconds = 0};
  if (validation_) {
    const Evaluation validation = nn::evaluate(module_, evaluate_, validation_, config_.batch_size, context_);
    epoch.val_loss = validation.loss;
    epoch.val_metrics = validation.metrics;
  }
  epoch.seconds = seconds();
  observe_loss(epoch.val_loss.value_or(epoch.loss));
  return epoch;
}

void Trainer::observe_loss(double loss) {
  if (plateau_) plateau_->observe(loss);
  if (!config_.early_stopping) return;
  const bool is_better =
      best_.epochs_since < 0 || std::isnan(best_.loss) || loss < best_.loss - config_.early_stopping->min_improvement;
  if (!is_better) {
    ++best_.epochs_since;
    return;
  }
  best_.loss = loss;
  best_.epochs_since = 0;
  if (config_.early_stopping->restore_best) best_.state = state_dict(module_);
}

bool Trainer::has_stopped() const noexcept {
  return config_.early_stopping && best_.epochs_since > config_.early_stopping->patience;
}

void Trainer::restore_best() {
  if (best_.epochs_since > 0 && best_.state.size() > 0) load_state_dict(module_, best_.state);
}

double Trainer::seconds() const {
  const std::chrono::duration<double> since = runtime_.executor().now() - epoch_begin_;
  return seconds_before_ + since.count();
}

History train(ModuleRef module, const EvaluateBatch& evaluate, const std::shared_ptr<const Dataset>& training,
              const std::shared_ptr<const Dataset>& validation, const TrainingConfig& config, const Context& context) {
  const SplitData data =
      validation || !training ? SplitData{training, validation} : split_data(training, config.validation_split);
  return Trainer(module, evaluate, data.training, data.validation, config, context).run();
}

Evaluation evaluate(ModuleRef module, const EvaluateBatch& evaluate, const std::shared_ptr<const Dataset>& dataset,
                    std::int64_t batch_size, const Context& context) {
  check_evaluate("evaluate", evaluate);
  const array::NoGradient no_gradient;
  const Tensor* const tensor = any_tensor(module);
  Runtime& runtime = tensor != nullptr ? array::runtime_of(*tensor) : Runtime::get_default();
  LoaderOptions options{.batch_size = batch_size, .shuffle = false, .runtime = &runtime};
  if (tensor != nullptr) options.device = tensor->device();
  Loader loader(dataset, options);
  if (loader.batches() == 0) throw_invalid("evaluate", "the data set is empty; give at least one example");
  RunningMeans means;
  while (const std::optional<Batch> batch = loader.next()) {
    context.check("evaluate", runtime.executor());
    means.add(evaluate(*batch, Mode{}), examples_of(*batch));
  }
  return means.means();
}

}  // namespace vectis::inline v0_1::nn
