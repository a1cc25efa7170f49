// The loop of training and its state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/training/running_means.hpp"
#include "vectis/nn/checkpoint.hpp"
#include "vectis/nn/gradients.hpp"
#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

// What early stopping has seen: part of checkpoints.
struct BestEpoch {
  double loss = 0;
  std::int64_t epochs_since = -1;  // -1: no epoch was seen
  StateDict state = {};            // of the module, when it is to be restored

  void save(Checkpoint& checkpoint) const;
  void load(const Checkpoint& checkpoint);
};

// Trains one module once. One thread.
class Trainer {
 public:
  // Checks the configuration. Throws as train() does.
  Trainer(ModuleRef module, const EvaluateBatch& evaluate, const std::shared_ptr<const Dataset>& training,
          const std::shared_ptr<const Dataset>& validation, const TrainingConfig& config, const Context& context);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Continues from the checkpoint, if there is one, and trains until the last epoch or early stopping.
  History run();

  // Computes the gradients of a batch on the device of the training, and updates the parameters by those of enough
  // batches.
  void train_batch(const Batch& batch);
  // Sets what is called with gradients when they are computed, and with their sum over batches.
  void watch_gradients(std::function<void(std::span<const Tensor>)> watch) { watch_ = std::move(watch); }

 private:
  void run_epoch();
  void add_gradients(const Batch& batch);
  void update();
  LossAndGradients compute(const Batch& batch, BatchResult& result, bool& is_finite);
  // Computes gradients, the result and buffers of a batch. Without finite gradients only the buffers.
  std::vector<Tensor> compute_gradients(const Batch& batch, BatchResult& result, bool& is_finite);
  [[nodiscard]] Epoch finish_epoch();
  [[nodiscard]] bool has_stopped() const noexcept;
  void observe_loss(double loss);
  void restore_best();
  // Moves the module back from a device that the planner chose.
  void move_home();
  // Warns when no batch of the epoch had finite gradients.
  void report_overflows();
  // Does what training with batches as large as `batch` needs memory for: two batches of gradients, and an update.
  void try_step(const Batch& batch);
  // Returns a number of examples that fits, found by trying, or 0 and why there is none. Changes nothing.
  std::int64_t find_batch_size(const Batch& batch, std::string& problem);
  // Finds a batch size that fits by trying, and throws Allocation with it.
  [[noreturn]] void throw_batch_too_large(const Batch& batch, const Error& error);

  [[nodiscard]] double seconds() const;
  void save();
  // Throws InvalidInput for a checkpoint that does not fit; module and optimizer are then as they were.
  void load();
  void load_parameters(const Checkpoint& checkpoint);
  void check_identity(const Checkpoint& checkpoint) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> identity() const;
  [[nodiscard]] std::vector<std::pair<std::string, double>> optimizer_options() const;

  ModuleRef module_;
  const EvaluateBatch& evaluate_;
  std::shared_ptr<const Dataset> validation_;
  const TrainingConfig& config_;
  const Context& context_;
  std::shared_ptr<Optimizer> optimizer_;
  double base_rate_;
  std::vector<std::shared_ptr<TrainingObserver>> observers_;
  Device home_;  // of the module before training
  Device device_;
  Runtime& runtime_;
  Loader loader_;
  Generator random_;
  std::optional<MixedPrecision> mixed_;
  std::optional<PlateauSchedule> plateau_;
  GradientAccumulator accumulator_;
  std::function<void(std::span<const Tensor>)> watch_;
  std::int64_t updates_ = 0;
  std::int64_t finite_batches_ = 0;  // of the running epoch
  std::int64_t overflowed_batches_ = 0;
  std::int64_t batches_since_save_ = 0;
  RunningMeans means_;  // of the running epoch
  double rate_ = 0;     // of the last update
  TimePoint epoch_begin_;
  double seconds_before_ = 0;  // of the running epoch, before training was interrupted
  BestEpoch best_;
  History history_;
};

// Throws InvalidInput unless a share of examples for validation is in [0, 1).
void check_split(double validation_split);

// Adds a history to a checkpoint, and takes it from there.
void save_history(const History& history, Checkpoint& checkpoint);
[[nodiscard]] History load_history(const Checkpoint& checkpoint);

}  // namespace vectis::inline v0_1::nn
