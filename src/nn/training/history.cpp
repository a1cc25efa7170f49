#include "vectis/nn/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/check.hpp"
#include "nn/training/epoch_text.hpp"

namespace vectis::inline v0_1::nn {

namespace {

using Lists = std::map<std::string, std::vector<double>, std::less<>>;

bool same_names(const Lists& lists, const Metrics& metrics) {
  return std::ranges::equal(lists, metrics, {}, &Lists::value_type::first, &Metrics::value_type::first);
}

void append(Lists& lists, const Metrics& metrics) {
  for (const auto& [name, value] : metrics) lists[name].push_back(value);
}

Metrics at(const Lists& lists, std::size_t number) {
  Metrics metrics;
  for (const auto& [name, values] : lists) metrics.emplace(name, values.at(number));
  return metrics;
}

}  // namespace

void History::add(const Epoch& epoch) {
  const bool is_first = size() == 0;
  if (!is_first && (!same_names(metrics, epoch.metrics) || !same_names(val_metrics, epoch.val_metrics) ||
                    val_loss.empty() == epoch.val_loss.has_value())) {
    throw_invalid("history", fmt::format("epoch {} has other metrics than the {} before it", epoch.number, size()));
  }
  loss.push_back(epoch.loss);
  if (epoch.val_loss) val_loss.push_back(*epoch.val_loss);
  append(metrics, epoch.metrics);
  append(val_metrics, epoch.val_metrics);
  learning_rate.push_back(epoch.learning_rate);
  seconds.push_back(epoch.seconds);
}

Epoch History::epoch(std::size_t number) const {
  if (number >= size()) {
    throw_invalid("history", fmt::format("epoch {} was asked for, but there are {}; count from 0", number, size()));
  }
  return {.number = static_cast<std::int64_t>(number),
          .loss = loss[number],
          .metrics = at(metrics, number),
          .val_loss = val_loss.empty() ? std::nullopt : std::optional(val_loss.at(number)),
          .val_metrics = at(val_metrics, number),
          .learning_rate = learning_rate.at(number),
          .seconds = seconds.at(number)};
}

void write_csv(std::ostream& out, const History& history) {
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Epoch epoch = history.epoch(i);
    if (i == 0) out << csv_header(epoch);
    out << csv_row(epoch);
  }
}

void write_jsonl(std::ostream& out, const History& history) {
  for (std::size_t i = 0; i < history.size(); ++i) out << json_line(history.epoch(i));
}

}  // namespace vectis::inline v0_1::nn
