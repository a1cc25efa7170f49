// What training records: losses, metrics, learning rates and times of its epochs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1::nn {

// Numbers by the name of their metric: "accuracy".
using Metrics = std::map<std::string, double, std::less<>>;

// The record of one epoch.
struct Epoch {
  std::int64_t number = 0;  // from 0
  double loss = 0;          // mean over its training examples, while the parameters changed
  Metrics metrics = {};
  std::optional<double> val_loss = std::nullopt;  // of the validation examples, after the epoch
  Metrics val_metrics = {};
  double learning_rate = 0;  // of its last update
  double seconds = 0;
};

// The record of training: one number per epoch in each list. A value.
struct VECTIS_API History {
  std::vector<double> loss = {};
  std::vector<double> val_loss = {};  // empty without validation examples
  std::map<std::string, std::vector<double>, std::less<>> metrics = {};
  std::map<std::string, std::vector<double>, std::less<>> val_metrics = {};  // val_metrics["accuracy"]
  std::vector<double> learning_rate = {};
  std::vector<double> seconds = {};

  // Returns the number of epochs.
  [[nodiscard]] std::size_t size() const noexcept { return loss.size(); }
  // Appends an epoch. Throws InvalidInput when it has other metrics than the epochs before.
  void add(const Epoch& epoch);
  // Returns the record of an epoch. Throws InvalidInput when there is none.
  [[nodiscard]] Epoch epoch(std::size_t number) const;

  // Returns a drawing of the losses, and of the metrics below them, for browsers and notebooks.
  [[nodiscard]] std::string to_svg() const;
  // Writes the losses as a chart of characters.
  void plot(std::ostream& out, std::size_t columns = 72, std::size_t rows = 16) const;
};

// Writes a history as CSV with a header, or as one JSON object per line.
VECTIS_API void write_csv(std::ostream& out, const History& history);
VECTIS_API void write_jsonl(std::ostream& out, const History& history);

}  // namespace vectis::inline v0_1::nn
