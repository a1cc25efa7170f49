// The state of training in checkpoints.
#include <fmt/format.h>

#include <bit>
#include <string_view>
#include <utility>

#include "nn/check.hpp"
#include "nn/training/trainer.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view metrics_prefix = "metrics.";
constexpr std::string_view val_metrics_prefix = "val_metrics.";

// The name of a part of the configuration in checkpoints.
std::string config_name(std::string_view name) { return fmt::format("config.{}", name); }

void add_list(StateDict& state, std::string name, const std::vector<double>& values) {
  state.add(std::move(name), Tensor::from_cpu(values, {static_cast<std::int64_t>(values.size())}));
}

std::vector<double> list_of(const StateDict& state, std::string_view name) {
  const Tensor& values = state.at(name);
  if (values.rank() == 1 && values.dtype() == DType::float64) return values.to_cpu<double>();
  throw_invalid("train", fmt::format("'{}' of the checkpoint's history is not a list of numbers", name));
}

}  // namespace

void save_history(const History& history, Checkpoint& checkpoint) {
  StateDict state;
  add_list(state, "loss", history.loss);
  add_list(state, "val_loss", history.val_loss);
  add_list(state, "learning_rate", history.learning_rate);
  add_list(state, "seconds", history.seconds);
  for (const auto& [name, values] : history.metrics) add_list(state, std::string(metrics_prefix) + name, values);
  for (const auto& [name, values] : history.val_metrics)
    add_list(state, std::string(val_metrics_prefix) + name, values);
  checkpoint.add("history", state);
}

History load_history(const Checkpoint& checkpoint) {
  const StateDict state = checkpoint.state("history");
  History history{.loss = list_of(state, "loss"),
                  .val_loss = list_of(state, "val_loss"),
                  .learning_rate = list_of(state, "learning_rate"),
                  .seconds = list_of(state, "seconds")};
  for (const auto& [name, values] : state) {
    if (name.starts_with(metrics_prefix)) history.metrics[name.substr(metrics_prefix.size())] = list_of(state, name);
    if (name.starts_with(val_metrics_prefix)) {
      history.val_metrics[name.substr(val_metrics_prefix.size())] = list_of(state, name);
    }
  }
  const auto has_all = [&](const std::vector<double>& list) { return list.size() == history.size(); };
  bool is_complete = has_all(history.learning_rate) && has_all(history.seconds) &&
                     (history.val_loss.empty() || has_all(history.val_loss));
  for (const auto& [name, values] : history.metrics) is_complete = is_complete && has_all(values);
  for (const auto& [name, values] : history.val_metrics) is_complete = is_complete && has_all(values);
  if (!is_complete) throw_invalid("train", "the lists of the checkpoint's history have different lengths");
  return history;
}

void BestEpoch::save(Checkpoint& checkpoint) const {
  checkpoint.numbers["best.loss"] = loss;
  checkpoint.integers["best.epochs_since"] = epochs_since;
  checkpoint.add("best", state);
}

void BestEpoch::load(const Checkpoint& checkpoint) {
  loss = checkpoint.number("best.loss");
  epochs_since = checkpoint.integer("best.epochs_since");
  state = checkpoint.state("best");
}

// What must be equal for training to continue as if it had not been interrupted.
std::vector<std::pair<std::string, std::int64_t>> Trainer::identity() const {
  return {{"batch_size", config_.batch_size},
          {"batches", loader_.batches()},
          {"examples", loader_.dataset().size()},
          {"validation_examples", validation_ ? validation_->size() : 0},
          {"shuffle", config_.shuffle ? 1 : 0},
          {"seed", std::bit_cast<std::int64_t>(config_.seed)},
          {"accumulated_batches", config_.accumulated_batches},
          {"mixed_precision", config_.mixed_precision ? static_cast<std::int64_t>(*config_.mixed_precision) : 0}};
}

std::vector<std::pair<std::string, double>> Trainer::optimizer_options() const {
  std::vector<std::pair<std::string, double>> options = {{"learning_rate", base_rate_}};
  for (const auto& [name, value] : optimizer_->hyperparameters()) options.emplace_back(name, value);
  return options;
}

void Trainer::save() {
  batches_since_save_ = 0;
  if (config_.checkpoint_path.empty()) return;
  Checkpoint checkpoint;
  checkpoint.add("module", state_dict(module_));
  checkpoint.add("optimizer", optimizer_->state_dict());
  checkpoint.texts["optimizer"] = optimizer_->name();
  if (mixed_) checkpoint.add("mixed_precision", mixed_->state_dict());
  if (plateau_) checkpoint.add("plateau", plateau_->state_dict());
  best_.save(checkpoint);
  save_history(history_, checkpoint);
  means_.save("epoch", checkpoint);
  checkpoint.numbers["epoch.seconds"] = seconds_before_ = seconds();
  epoch_begin_ = runtime_.executor().now();
  checkpoint.numbers["last_learning_rate"] = rate_;
  checkpoint.integers["updates"] = updates_;
  checkpoint.integers["position.epoch"] = std::bit_cast<std::int64_t>(loader_.position().epoch);
  checkpoint.integers["position.batch"] = loader_.position().batch;
  checkpoint.integers["random.seed"] = std::bit_cast<std::int64_t>(random_.state().seed);
  checkpoint.integers["random.draws"] = std::bit_cast<std::int64_t>(random_.state().draws);
  for (const auto& [name, value] : identity()) checkpoint.integers[config_name(name)] = value;
  for (const auto& [name, value] : optimizer_options()) checkpoint.numbers[config_name(name)] = value;
  save_checkpoint(config_.checkpoint_path, checkpoint);
}

void Trainer::check_identity(const Checkpoint& checkpoint) const {
  const auto compare = [&](const std::string& name, auto stored, auto value) {
    if (stored == value) return;
    throw_invalid("train", fmt::format("{} was saved by training with {} {}, but it is {} now; use the same "
                                       "configuration and data, or another checkpoint_path",
                                       config_.checkpoint_path, name, stored, value));
  };
  for (const auto& [name, value] : identity()) compare(name, checkpoint.integer(config_name(name)), value);
  const auto kind = checkpoint.texts.find("optimizer");
  if (kind == checkpoint.texts.end() || kind->second != optimizer_->name()) {
    throw_invalid(
        "train",
        fmt::format("{} was saved by training with the optimizer {}, but it is {} now", config_.checkpoint_path,
                    kind == checkpoint.texts.end() ? "of an unknown name" : kind->second, optimizer_->name()));
  }
  for (const auto& [name, value] : optimizer_options()) {
    compare(name, checkpoint.number(config_name(name)), value);
  }
}

void Trainer::load() {
  const Checkpoint checkpoint = load_checkpoint(config_.checkpoint_path);
  check_identity(checkpoint);
  history_ = load_history(checkpoint);
  if (mixed_) mixed_->load_state_dict(checkpoint.state("mixed_precision"));
  if (plateau_) plateau_->load_state_dict(checkpoint.state("plateau"));
  best_.load(checkpoint);
  means_.load("epoch", checkpoint);
  seconds_before_ = checkpoint.number("epoch.seconds");
  rate_ = checkpoint.number("last_learning_rate");
  updates_ = checkpoint.integer("updates");
  check_min("train", "the number of updates in the checkpoint", updates_, 0);
  loader_.seek({.epoch = std::bit_cast<std::uint64_t>(checkpoint.integer("position.epoch")),
                .batch = checkpoint.integer("position.batch")});
  random_.set_state({.seed = std::bit_cast<std::uint64_t>(checkpoint.integer("random.seed")),
                     .draws = std::bit_cast<std::uint64_t>(checkpoint.integer("random.draws"))});
  load_parameters(checkpoint);
}

// Replaces the state of both the module and the optimizer, or of neither.
void Trainer::load_parameters(const Checkpoint& checkpoint) {
  const StateDict before = state_dict(module_);
  load_state_dict(module_, checkpoint.state("module"));
  try {
    optimizer_->load_state_dict(checkpoint.state("optimizer"));
  } catch (...) {
    load_state_dict(module_, before);
    throw;
  }
}

}  // namespace vectis::inline v0_1::nn
