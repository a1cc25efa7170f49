// CSV and JSON logs, and the progress bar.
#include "vectis/nn/observer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nn/training/epoch_text.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::size_t bar_width = 30;
constexpr double seconds_between_draws = 0.1;

std::string bar_text(double share) {
  const auto done = static_cast<std::size_t>(share * static_cast<double>(bar_width));
  return std::string(done, '=') + (done < bar_width ? ">" : "") +
         std::string(bar_width - std::min(bar_width, done + 1), ' ');
}

}  // namespace

void CsvLog::on_epoch(const Epoch& epoch, std::int64_t /*epochs*/) {
  if (!has_header_) out_ << csv_header(epoch);
  has_header_ = true;
  out_ << csv_row(epoch) << std::flush;
}

void JsonLog::on_epoch(const Epoch& epoch, std::int64_t /*epochs*/) { out_ << json_line(epoch) << std::flush; }

void ProgressBar::on_batch(const BatchProgress& progress) {
  if (!is_terminal_ || progress.batches == 0) return;
  if (drawn_at_ >= 0 && progress.seconds >= drawn_at_ && progress.seconds < drawn_at_ + seconds_between_draws) return;
  drawn_at_ = progress.seconds;
  const double share = static_cast<double>(progress.batch) / static_cast<double>(progress.batches);
  const double left = share > 0 ? progress.seconds / share - progress.seconds : 0;
  const std::string line = fmt::format("epoch {}/{} [{}] {}/{}  {:.0f} s left", progress.epoch + 1, progress.epochs,
                                       bar_text(share), progress.batch, progress.batches, left);
  out_ << '\r' << fmt::format("{:<{}}", line, drawn_) << std::flush;
  drawn_ = line.size();
}

void ProgressBar::on_epoch(const Epoch& epoch, std::int64_t epochs) {
  std::string line = fmt::format("epoch {}/{}  {:.1f} s", epoch.number + 1, epochs, epoch.seconds);
  for (const auto& [name, value] : numbers_of(epoch)) {
    if (name != "epoch" && name != "seconds") line += fmt::format("  {} {:.4g}", name, value);
  }
  if (is_terminal_) out_ << '\r';
  out_ << fmt::format("{:<{}}", line, drawn_) << '\n' << std::flush;
  drawn_ = 0;
  drawn_at_ = -1;
}

}  // namespace vectis::inline v0_1::nn
