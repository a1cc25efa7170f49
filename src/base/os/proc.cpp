#include "base/os/proc.hpp"

#include <array>
#include <charconv>

namespace vectis::inline v0_1 {

namespace {

// Parses the number at the front of `text` and removes it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + start, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::uint64_t meminfo_bytes(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) continue;
    line.remove_prefix(key.size() + 1);
    return take_number(line).value_or(0) * 1024;
  }
  return 0;
}

std::optional<CpuTimes> parse_cpu_times(std::string_view text) {
  std::string_view line = take_line(text);
  if (!line.starts_with("cpu ")) return std::nullopt;
  line.remove_prefix(4);
  // user nice system idle iowait irq softirq steal; guest time is already part of user.
  constexpr std::size_t idle = 3;
  constexpr std::size_t waiting = 4;
  std::array<std::uint64_t, 8> fields{};
  std::size_t count = 0;
  for (; count < fields.size(); ++count) {
    const auto number = take_number(line);
    if (!number) break;
    fields[count] = *number;
  }
  if (count <= idle) return std::nullopt;
  CpuTimes times;
  for (const std::uint64_t field : fields) times.all += field;
  times.busy = times.all - fields[idle] - fields[waiting];
  return times;
}

std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after) {
  if (after.all <= before.all || after.busy < before.busy) return std::nullopt;
  const double share = static_cast<double>(after.busy - before.busy) / static_cast<double>(after.all - before.all);
  return share > 1 ? 1 : share;
}

}  // namespace vectis::inline v0_1
