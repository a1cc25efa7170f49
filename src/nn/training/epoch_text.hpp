// The record of an epoch as a row of a table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vectis/nn/history.hpp"

namespace vectis::inline v0_1::nn {

// Returns the numbers of an epoch with their names: "epoch", "loss", "accuracy", "val_loss", "val_accuracy",
// "learning_rate", "seconds".
[[nodiscard]] std::vector<std::pair<std::string, double>> numbers_of(const Epoch& epoch);

// Each ends with a line feed.
[[nodiscard]] std::string csv_header(const Epoch& epoch);
[[nodiscard]] std::string csv_row(const Epoch& epoch);
[[nodiscard]] std::string json_line(const Epoch& epoch);

}  // namespace vectis::inline v0_1::nn
