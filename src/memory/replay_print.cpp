#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "vectis/memory/replay.hpp"

namespace vectis::inline v0_1 {

namespace {

using Row = std::array<std::string, 9>;

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1U << 20));
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

double ratio(std::uint64_t value, std::uint64_t base) {
  return base == 0 ? 0.0 : static_cast<double>(value) / static_cast<double>(base);
}

// The last one is best fit.
std::uint64_t ideal_peak(const ReplayReport& report) {
  return report.results.empty() ? 0 : report.results.back().peak_bytes;
}

Row row(const ReplayResult& result, std::uint64_t ideal) {
  return {result.allocator,
          fmt::format("{} ns", result.per_event.count()),
          mebibytes(result.peak_bytes),
          fmt::format("{:.3f}", ratio(result.peak_bytes, ideal)),
          percent(result.waste.at_peak),
          percent(result.waste.mean),
          percent(result.waste.max),
          fmt::format("{}", result.device_allocations),
          fmt::format("{}", result.device_allocations_last)};
}

void print_rows(std::ostream& out, const std::vector<Row>& rows) {
  std::array<std::size_t, 9> width{};
  for (const Row& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) width[i] = std::max(width[i], cells[i].size());
  }
  for (const Row& cells : rows) {
    std::string line = fmt::format("{:<{}}", cells[0], width[0]);
    for (std::size_t i = 1; i < cells.size(); ++i) line += fmt::format("  {:>{}}", cells[i], width[i]);
    fmt::print(out, "{}\n", line);
  }
}

}  // namespace

void print(std::ostream& out, const ReplayReport& report) {
  fmt::print(out, "{} events, {} allocations, at most {} asked for at once, on {}\n\n", report.events,
             report.allocations, mebibytes(report.peak_requested_bytes), report.device);
  std::vector<Row> rows = {{"allocator", "per event", "peak", "of best fit's", "waste at peak", "mean", "most",
                            "device allocations", "last round"}};
  for (const ReplayResult& result : report.results) rows.push_back(row(result, ideal_peak(report)));
  print_rows(out, rows);
  fmt::print(out,
             "\nPer event: the median of {} interleaved rounds after a first one, which gave the other numbers.\n"
             "Waste: (allocated - asked for) / asked for, over the live buffers.\n",
             report.rounds);
}

void write_json(std::ostream& out, const ReplayReport& report) {
  using Json = nlohmann::ordered_json;
  Json results = Json::array();
  for (const ReplayResult& result : report.results) {
    results.push_back({{"allocator", result.allocator},
                       {"ns_per_event", result.per_event.count()},
                       {"peak_bytes", result.peak_bytes},
                       {"peak_of_best_fit", ratio(result.peak_bytes, ideal_peak(report))},
                       {"waste_at_peak", result.waste.at_peak},
                       {"waste_mean", result.waste.mean},
                       {"waste_max", result.waste.max},
                       {"device_allocations", result.device_allocations},
                       {"device_allocations_last", result.device_allocations_last}});
  }
  const Json page = {{"device", report.device},           {"events", report.events},
                     {"allocations", report.allocations}, {"peak_requested_bytes", report.peak_requested_bytes},
                     {"rounds", report.rounds},           {"results", results}};
  out << page.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace vectis::inline v0_1
