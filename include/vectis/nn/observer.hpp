// Observers of training: logs for spreadsheets and TensorBoard, and a progress bar.
//
//   std::ofstream log("run.csv");
//   config.observers = {std::make_shared<nn::CsvLog>(log), std::make_shared<nn::TensorBoardLog>("runs/first"),
//                       std::make_shared<nn::ProgressBar>(std::cerr)};
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "vectis/base/file.hpp"
#include "vectis/base/os.hpp"
#include "vectis/nn/history.hpp"

namespace vectis::inline v0_1::nn {

// How far an epoch has come.
struct BatchProgress {
  std::int64_t epoch = 0;   // from 0
  std::int64_t epochs = 0;  // in all, at most
  std::int64_t batch = 0;   // batches done
  std::int64_t batches = 0;
  double seconds = 0;  // since the epoch began
};

// Is called by training, on its thread. What it throws ends training.
class TrainingObserver {
 public:
  TrainingObserver() = default;
  TrainingObserver(const TrainingObserver&) = delete;
  TrainingObserver& operator=(const TrainingObserver&) = delete;
  virtual ~TrainingObserver() = default;

  // After each batch. Reading values of arrays here makes training wait for the device.
  virtual void on_batch(const BatchProgress& progress) = 0;
  // After each epoch. `epochs` is the most that there will be.
  virtual void on_epoch(const Epoch& epoch, std::int64_t epochs) = 0;
  // When training has ended, also before its last epoch, but not when it throws.
  virtual void on_end() = 0;
};

// Writes a row of comma-separated values for each epoch, after a header, and flushes it. One thread at a time.
class VECTIS_API CsvLog final : public TrainingObserver {
 public:
  // `out` must outlive the log.
  explicit CsvLog(std::ostream& out) : out_(out) {}
  void on_batch(const BatchProgress& /*progress*/) override {}
  void on_epoch(const Epoch& epoch, std::int64_t epochs) override;
  void on_end() override {}

 private:
  std::ostream& out_;
  bool has_header_ = false;
};

// Writes a JSON object for each epoch, one per line, and flushes it. One thread at a time.
class VECTIS_API JsonLog final : public TrainingObserver {
 public:
  // `out` must outlive the log.
  explicit JsonLog(std::ostream& out) : out_(out) {}
  void on_batch(const BatchProgress& /*progress*/) override {}
  void on_epoch(const Epoch& epoch, std::int64_t epochs) override;
  void on_end() override {}

 private:
  std::ostream& out_;
};

// Writes scalars to an event file of TensorBoard. One thread at a time.
class VECTIS_API EventWriter {
 public:
  // Writes the record that begins an event file. `writer` must outlive the EventWriter. Throws what `writer` throws.
  EventWriter(ByteWriter& writer, double unix_seconds);
  // Throws what the writer throws.
  void scalar(std::string_view tag, std::int64_t step, double value, double unix_seconds);

 private:
  ByteWriter& writer_;
};

// Writes a scalar for each number of an epoch to a new event file, which `tensorboard --logdir` shows: "loss/train",
// "loss/validation", "accuracy/train", "learning_rate" and so on. One thread at a time.
class VECTIS_API TensorBoardLog final : public TrainingObserver {
 public:
  // Creates the file "events.out.tfevents.<seconds>.<nanoseconds>.vectis" in `folder`, which must exist. `os` must
  // outlive the log. Throws Io when that fails.
  explicit TensorBoardLog(const std::string& folder, Os& os = real_os());
  void on_batch(const BatchProgress& /*progress*/) override {}
  // Throws Io when the file cannot be written.
  void on_epoch(const Epoch& epoch, std::int64_t epochs) override;
  void on_end() override {}

 private:
  Os& os_;
  FileWriter file_;
  EventWriter events_;
};

// Draws a line for the running epoch, which it overwrites, and leaves one for each epoch that has ended. One thread at
// a time.
class VECTIS_API ProgressBar final : public TrainingObserver {
 public:
  // `out` must outlive the bar. `is_terminal`: lines are overwritten; else only those of ended epochs are written.
  explicit ProgressBar(std::ostream& out, bool is_terminal = true) : out_(out), is_terminal_(is_terminal) {}
  void on_batch(const BatchProgress& progress) override;
  void on_epoch(const Epoch& epoch, std::int64_t epochs) override;
  void on_end() override {}

 private:
  std::ostream& out_;
  bool is_terminal_;
  double drawn_at_ = -1;   // seconds of the epoch
  std::size_t drawn_ = 0;  // characters of the line
};

}  // namespace vectis::inline v0_1::nn
