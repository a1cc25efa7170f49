#include "kernel/profiler/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "memory/human.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t columns = 12;
constexpr std::size_t left_aligned = 3;  // name, device, clock
using Line = std::array<std::string, columns>;

// 12345 as "12,345".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

double milliseconds(Duration time) { return static_cast<double>(time.count()) * 1e-6; }
double microseconds(Duration time) { return static_cast<double>(time.count()) * 1e-3; }

Line line_of(const ProfileRow& row, std::uint64_t on) {
  const double share = on == 0 ? 0.0 : 100.0 * static_cast<double>(row.total.count()) / static_cast<double>(on);
  return {row.name,
          row.device.empty() ? "-" : row.device,
          std::string(name(row.clock)),
          grouped(row.calls),
          row.failed == 0 ? "-" : grouped(row.failed),
          fmt::format("{:.3f}", milliseconds(row.total)),
          fmt::format("{:.2f}", row.mean_nanoseconds() * 1e-3),
          fmt::format("{:.2f}", microseconds(row.least)),
          fmt::format("{:.2f}", microseconds(row.most)),
          fmt::format("{:.1f} %", share),
          row.bytes == 0 ? "-" : human(row.bytes),
          row.bytes == 0 ? "-" : fmt::format("{:.2f}", row.gigabytes_per_second())};
}

void print_line(std::ostream& out, const Line& line, const std::array<std::size_t, columns>& widths) {
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) {
    if (i > 0) text += "  ";
    text += i < left_aligned ? fmt::format("{:<{}}", line[i], widths[i]) : fmt::format("{:>{}}", line[i], widths[i]);
  }
  out << text << '\n';
}

void print_losses(std::ostream& out, const ProfileFrame& frame) {
  const ProfileLosses& lost = frame.losses;
  if (lost.dropped > 0) {
    out << grouped(lost.dropped) << " events dropped from the trace; raise capacity (now " << grouped(frame.capacity)
        << ")\n";
  }
  if (lost.untimed > 0) {
    out << grouped(lost.untimed) << " pieces of work without the device's time; their rows tell the host's\n";
  }
  if (lost.renamed > 0) {
    out << grouped(lost.renamed) << " calls under '" << NameTable::other << "'; use fewer different names (at most "
        << grouped(NameTable::names_max) << ")\n";
  }
  if (lost.sink_failures > 0) {
    out << grouped(lost.sink_failures) << " exceptions of sinks; mend the sink\n";
  }
}

}  // namespace

void print_summary(std::ostream& out, std::span<const ProfileRow> rows, const ProfileFrame& frame) {
  std::vector<Line> lines = {{"name", "device", "clock", "calls", "failed", "total ms", "mean us", "min us", "max us",
                              "share", "bytes", "GB/s"}};
  for (const ProfileRow& row : rows) lines.push_back(line_of(row, frame.on));
  std::array<std::size_t, columns> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Line& line : lines) print_line(out, line, widths);
  out << fmt::format("{} rows; shares are of the {:.3f} ms the profiler was on\n", rows.size(),
                     static_cast<double>(frame.on) * 1e-6);
  print_losses(out, frame);
}

}  // namespace vectis::inline v0_1::detail
