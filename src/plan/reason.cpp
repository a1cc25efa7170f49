#include "plan/reason.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace vectis::inline v0_1 {

namespace detail {

std::string human_seconds(double seconds) {
  constexpr double milli = 1e-3;
  constexpr double micro = 1e-6;
  constexpr double nano = 1e-9;
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= milli) return fmt::format("{:.3g} ms", seconds / milli);
  if (seconds >= micro) return fmt::format("{:.3g} us", seconds / micro);
  return fmt::format("{:.3g} ns", seconds / nano);
}

std::string reason_of(const Choice& choice) {
  const Assessment& winner = choice.candidates[choice.index];
  const double seconds = winner.predicted.seconds();
  const Assessment* rival = nullptr;
  for (const Assessment& one : choice.candidates) {
    if (&one == &winner || !one.excluded.empty()) continue;
    if (rival == nullptr || one.predicted.seconds() < rival->predicted.seconds()) rival = &one;
  }
  if (rival == nullptr) {
    return fmt::format("{} is the only candidate {}, predicted {}", winner.label,
                       choice.candidates.size() == 1 ? "there is" : "that may be used", human_seconds(seconds));
  }
  if (choice.explored) {
    return fmt::format("{} is tried, predicted {} against {} of {}: little is known of it after {} records",
                       winner.label, human_seconds(seconds), human_seconds(rival->predicted.seconds()), rival->label,
                       winner.records);
  }
  return fmt::format("{} is predicted to take {}, {:.2g} times as fast as {}", winner.label, human_seconds(seconds),
                     rival->predicted.seconds() / seconds, rival->label);
}

}  // namespace detail

namespace {

using ExplainRow = std::vector<std::string>;

ExplainRow explain_row(const Choice& choice, std::size_t index) {
  const Assessment& one = choice.candidates[index];
  const Prediction& predicted = one.predicted;
  ExplainRow row = {(index == choice.index ? "* " : "  ") + one.label};
  if (!one.excluded.empty() && predicted.seconds() <= 0) return row;
  row.push_back(detail::human_seconds(predicted.seconds()));
  for (const double part : {predicted.launch, predicted.compile, predicted.copy, predicted.compute, predicted.host}) {
    row.push_back(part > 0 ? detail::human_seconds(part) : "-");
  }
  row.push_back(one.records > 0 ? fmt::format("x {:.2f}", predicted.correction) : "-");
  row.push_back(one.measured ? detail::human_seconds(*one.measured) : "-");
  row.push_back(fmt::format("{}", one.records));
  return row;
}

// Columns as wide as their widest cell, the first flush left, the others right.
std::string aligned(const std::vector<ExplainRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const ExplainRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const ExplainRow& row : rows) {
    text += row.size() == 1 ? row[0] : fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string Choice::explain() const {
  std::vector<ExplainRow> rows = {
      {"  candidate", "predicted", "launch", "compile", "copy", "compute", "host", "history", "measured", "records"}};
  for (std::size_t i = 0; i < candidates.size(); ++i) rows.push_back(explain_row(*this, i));
  std::string text = reason + '\n' + aligned(rows);
  for (const Assessment& one : candidates) {
    if (!one.excluded.empty()) text += fmt::format("  {} is passed over: {}\n", one.label, one.excluded);
  }
  return text;
}

}  // namespace vectis::inline v0_1
