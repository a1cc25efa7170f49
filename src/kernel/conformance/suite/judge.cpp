#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr double wrong = std::numeric_limits<double>::infinity();

std::string element_text(DType type, std::uint32_t bits) {
  return fmt::format("{} (bits {:#x})", value_of(type, bits), bits);
}

// The rows to look at: all, or the first, the last and some drawn.
std::vector<std::uint64_t> rows_of(std::uint64_t rows, std::uint64_t most) {
  std::vector<std::uint64_t> chosen;
  if (rows <= most) {
    for (std::uint64_t row = 0; row < rows; ++row) chosen.push_back(row);
    return chosen;
  }
  Random random(rows);
  chosen = {0, rows - 1};
  while (chosen.size() < std::max<std::uint64_t>(most, 2)) chosen.push_back(random.below(rows));
  return chosen;
}

struct Worst {
  std::mutex mutex;
  double error = 0;
  std::string place;
};

void judge_rows(const Subject& subject, const Problem& before, const Operand& after, std::size_t output,
                std::span<const std::uint64_t> rows, Worst& worst) {
  std::vector<Expectation> expected(after.columns());
  double error = 0;
  std::string place;
  for (const std::uint64_t row : rows) {
    subject.reference(before, output, row, expected);
    for (std::uint64_t column = 0; column < after.columns(); ++column) {
      const std::uint32_t bits = after.bits(row, column);
      const double found = expected[column].error(after.type(), bits);
      if (found <= error) continue;
      error = found;
      place = fmt::format("operand {} at row {}, column {} is {}, expected {}", output, row, column,
                          element_text(after.type(), bits), expected[column].text(after.type()));
    }
  }
  const std::lock_guard lock(worst.mutex);
  if (error > worst.error) {
    worst.error = error;
    worst.place = place;
  }
}

void judge_output(Executor& executor, const Subject& subject, const Problem& before, const Operand& after,
                  std::size_t output, std::uint64_t rows_checked, Worst& worst) {
  if (after.columns() == 0) return;
  const std::vector<std::uint64_t> rows = rows_of(after.rows(), rows_checked);
  const std::size_t grain = std::max<std::size_t>(1, 4096 / after.columns());
  executor.parallel_for(rows.size(), grain, [&](std::size_t begin, std::size_t end) {
    judge_rows(subject, before, after, output, std::span(rows).subspan(begin, end - begin), worst);
  });
}

// Where rows are compared as a whole.
Verdict compare_rows(Executor& executor, const Subject& subject, double limit, const Problem& before,
                     std::span<const Operand> after, std::uint64_t rows_checked) {
  const std::vector<std::uint64_t> rows = rows_of(after[subject.outputs.front()].rows(), rows_checked);
  std::mutex mutex;
  Verdict worst;
  executor.parallel_for(rows.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Verdict found = subject.compare(before, after, rows[i], limit);
      const std::lock_guard lock(mutex);
      worst.worst = std::max(worst.worst, found.worst);
      if (worst.failure.empty()) worst.failure = std::move(found.failure);
    }
  });
  return worst;
}

std::string untouched(const Subject& subject, const Problem& before, std::span<const Operand> after) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool written = std::ranges::find(subject.outputs, i) != subject.outputs.end();
    const auto changed =
        written ? after[i].changed_neighbor(before.operands[i]) : after[i].changed_byte(before.operands[i]);
    if (!changed) continue;
    return fmt::format("byte {} of operand {} was changed, which {}", *changed, i,
                       written ? "lies outside of the view" : "is only read");
  }
  return {};
}

}  // namespace

double Expectation::error(DType type, std::uint32_t bits) const {
  if (bitwise_) return bits == bits_ ? 0 : wrong;
  const double actual = value_of(type, bits);
  if (std::isnan(value_)) return std::isnan(actual) ? 0 : wrong;
  if (actual == value_) return 0;
  if (!std::isfinite(value_) || !std::isfinite(actual)) return wrong;
  const double difference = std::fabs(actual - value_) - floor_;
  if (difference <= 0) return 0;
  return scale_ > 0 ? difference / scale_ : wrong;
}

std::string Expectation::text(DType type) const {
  return bitwise_ ? element_text(type, bits_) : fmt::format("{} (error relative to {:.6g})", value_, scale_);
}

Verdict judge(Executor& executor, const Subject& subject, const Case& one, const Problem& before,
              std::span<const Operand> after, std::uint64_t rows_checked) {
  if (std::string changed = untouched(subject, before, after); !changed.empty()) return {0, std::move(changed)};
  if (subject.compare) return compare_rows(executor, subject, one.types->limit, before, after, rows_checked);
  Worst worst;
  for (const std::size_t output : subject.outputs) {
    judge_output(executor, subject, before, after[output], output, rows_checked, worst);
  }
  if (worst.error <= one.types->limit) return {worst.error, {}};
  return {worst.error, fmt::format("{}; error {:.3g}, limit {:.3g}", worst.place, worst.error, one.types->limit)};
}

}  // namespace vectis::inline v0_1::conformance
