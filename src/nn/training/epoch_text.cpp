#include "nn/training/epoch_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "nn/text/json_value.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// Quotes a name where a delimiter or a quote would end it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

std::vector<std::pair<std::string, double>> numbers_of(const Epoch& epoch) {
  std::vector<std::pair<std::string, double>> numbers = {{"epoch", static_cast<double>(epoch.number)},
                                                         {"loss", epoch.loss}};
  for (const auto& [name, value] : epoch.metrics) numbers.emplace_back(name, value);
  if (epoch.val_loss) numbers.emplace_back("val_loss", *epoch.val_loss);
  for (const auto& [name, value] : epoch.val_metrics) numbers.emplace_back("val_" + name, value);
  numbers.emplace_back("learning_rate", epoch.learning_rate);
  numbers.emplace_back("seconds", epoch.seconds);
  return numbers;
}

std::string csv_header(const Epoch& epoch) {
  std::vector<std::string> names;
  for (const auto& [name, value] : numbers_of(epoch)) names.push_back(csv_field(name));
  return fmt::format("{}\n", fmt::join(names, ","));
}

std::string csv_row(const Epoch& epoch) {
  std::vector<double> values;
  for (const auto& [name, value] : numbers_of(epoch)) values.push_back(value);
  return fmt::format("{}\n", fmt::join(values, ","));
}

std::string json_line(const Epoch& epoch) {
  std::vector<std::string> members;
  for (const auto& [name, value] : numbers_of(epoch)) {
    // JSON has no infinity and no NaN.
    members.push_back(fmt::format("{}: {}", json_string(name), std::isfinite(value) ? fmt::to_string(value) : "null"));
  }
  return fmt::format("{{{}}}\n", fmt::join(members, ", "));
}

}  // namespace vectis::inline v0_1::nn
