#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <tuple>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/base/format.hpp"
#include "vectis/commands.hpp"
#include "vectis/device.hpp"
#include "vectis/memory/snapshot.hpp"
#include "vectis/table.hpp"

namespace vectis::app {

namespace {

namespace fs = std::filesystem;

constexpr Duration refresh_interval = std::chrono::seconds(1);
constexpr std::size_t largest_shown = 8;
constexpr std::size_t bar_width = 40;

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "0 %" : fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string seconds(Duration duration) {
  const double value = std::chrono::duration<double>(duration).count();
  return value < 1 ? fmt::format("{:.0f} ms", value * 1000) : fmt::format("{:.1f} s", value);
}

// "####===.....": in use, cached, available under the limit.
std::string bar(const MemoryStats& stats) {
  const std::uint64_t whole = std::max({stats.limit_bytes, stats.reserved_bytes, std::uint64_t{1}});
  const auto cells = [&](std::uint64_t part) {
    return static_cast<std::size_t>(std::lround(static_cast<double>(part) / static_cast<double>(whole) * bar_width));
  };
  const std::size_t used = std::min(cells(stats.in_use_bytes), bar_width);
  const std::size_t held = std::clamp(cells(stats.reserved_bytes), used, bar_width);
  return std::string(used, '#') + std::string(held - used, '=') + std::string(bar_width - held, '.');
}

void print_numbers(std::ostream& out, const MemoryStats& stats) {
  fmt::print(out, "[{}] # in use, = cached, . available\n\n", bar(stats));
  const auto line = [&](const char* name, std::uint64_t count, const std::string& note) {
    fmt::print(out, "{:<10} {:>10}   {}\n", name, format_bytes(count), note);
  };
  line("in use", stats.in_use_bytes,
       fmt::format("{} buffers, {} requested", stats.live_buffers, format_bytes(stats.requested_bytes)));
  line("cached", stats.cached_bytes,
       fmt::format("largest contiguous range {}, fragmentation {:.0f} %", format_bytes(stats.largest_free_bytes),
                   100 * stats.fragmentation));
  line("limit", stats.limit_bytes, fmt::format("{} of it held", percent(stats.reserved_bytes, stats.limit_bytes)));
  line("peak", stats.peak_reserved_bytes, fmt::format("held, {} in use", format_bytes(stats.peak_in_use_bytes)));
  fmt::print(out, "{:<10} {:>10}   of {} buffers, {} allocations and {} frees on the device, {} failures\n", "hit rate",
             percent(stats.hits, stats.allocations), stats.allocations, stats.device_allocations, stats.device_frees,
             stats.failures);
}

std::string tag_name(const std::string& tag) { return tag.empty() ? "(untagged)" : tag; }

void print_tags(std::ostream& out, std::vector<TagUsage> tags) {
  if (tags.empty()) return;
  std::ranges::sort(tags, [](const TagUsage& a, const TagUsage& b) {
    return std::tie(b.live_bytes, a.tag) < std::tie(a.live_bytes, b.tag);
  });
  std::vector<Row> rows = {{"tag", "buffers", "live", "peak"}};
  for (const TagUsage& tag : tags) {
    rows.push_back({tag_name(tag.tag), fmt::to_string(tag.live_buffers), format_bytes(tag.live_bytes),
                    format_bytes(tag.peak_bytes)});
  }
  fmt::print(out, "\n");
  print_table(out, rows, Columns::numbers);
}

void print_largest(std::ostream& out, const std::vector<SnapshotBlock>& blocks) {
  std::vector<const SnapshotBlock*> live;
  for (const SnapshotBlock& block : blocks) {
    if (block.state == BlockState::live) live.push_back(&block);
  }
  if (live.empty()) return;
  std::ranges::sort(live, [](const SnapshotBlock* a, const SnapshotBlock* b) {
    return std::tie(b->bytes, b->age) < std::tie(a->bytes, a->age);
  });
  live.resize(std::min(live.size(), largest_shown));
  std::vector<Row> rows = {{"largest", "size", "requested", "precision", "age"}};
  for (const SnapshotBlock* block : live) {
    rows.push_back({tag_name(block->tag), format_bytes(block->bytes), format_bytes(block->requested_bytes),
                    std::string(name(block->precision)), seconds(block->age)});
  }
  fmt::print(out, "\n");
  print_table(out, rows, Columns::numbers);
}

void print_snapshot(std::ostream& out, const MemorySnapshot& snapshot) {
  fmt::print(out, "{}, {} after the program started\n", printable(snapshot.device),
             seconds(snapshot.time.time_since_epoch()));
  print_numbers(out, snapshot.stats);
  print_tags(out, snapshot.stats.tags);
  print_largest(out, snapshot.blocks);
  if (snapshot.cause.empty()) return;
  fmt::print(out, "\n");
  for (std::size_t begin = 0; begin < snapshot.cause.size();) {
    const std::size_t end = std::min(snapshot.cause.find('\n', begin), snapshot.cause.size());
    fmt::print(out, "{}\n", printable(snapshot.cause.substr(begin, end - begin)));
    begin = end + 1;
  }
}

MemorySnapshot read_snapshot(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) {
    throw Error(ErrorCode::io, "memory",
                fmt::format("{} cannot be opened; check the path and its permissions", path.string()));
  }
  try {
    return read_memory_snapshot(file);
  } catch (const Error& error) {
    throw Error(error.code(), "memory", fmt::format("{}: {}", path.string(), error.what()));
  }
}

// The file itself, or the live snapshots of a folder.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with("live-") && file.ends_with(".json")) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw Error(ErrorCode::io, "memory",
                fmt::format("{} has no live snapshot; run the program with VECTIS_MEMORY_LIVE={}", path.string(),
                            path.string()));
  }
  return files;
}

void show(std::ostream& out, const std::string& path) {
  const std::vector<fs::path> files = files_of(path);
  for (const fs::path& file : files) {
    if (&file != &files.front()) fmt::print(out, "\n");
    print_snapshot(out, read_snapshot(file));
  }
  out.flush();
}

void wait(Executor& executor) {
  std::atomic<bool> due{false};
  executor.post_after(refresh_interval, [&] { due.store(true); });
  executor.run_until([&] { return due.load(); });
}

void follow(Runtime& runtime, std::ostream& out, const MemoryArguments& arguments) {
  const bool terminal = runtime.os().stdout_is_terminal();
  for (std::size_t shown = 1;; ++shown) {
    if (terminal) {
      fmt::print(out, "\x1b[H\x1b[2J");  // cursor home, clear screen
    } else if (shown > 1) {
      fmt::print(out, "\n");
    }
    show(out, arguments.path);
    if (arguments.count != 0 && shown >= arguments.count) return;
    wait(runtime.executor());
  }
}

void print_devices(Runtime& runtime, std::ostream& out) {
  std::vector<Row> rows = {{"device", "total", "free", "busy"}};
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    const auto memory = device.memory();
    const auto busy = device.utilization();
    rows.push_back({fmt::format("{} {}", device.label(), device.info().name),
                    format_bytes(memory ? memory->total_bytes : device.info().memory_bytes),
                    memory ? format_bytes(memory->free_bytes) : "unknown",
                    busy ? fmt::format("{:.0f} %", 100 * *busy) : "unknown"});
  }
  print_table(out, rows, Columns::numbers);
  fmt::print(
      out, "\nTo watch a program, run it with VECTIS_MEMORY_LIVE=FOLDER, and here `vectis memory --follow FOLDER`.\n");
}

void write_page(const std::string& path, const MemorySnapshot& snapshot) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  write_html(file, snapshot);
  file.close();
  if (!file) {
    throw Error(ErrorCode::io, "memory",
                fmt::format("{} cannot be written; check the path, its permissions and free disk space", path));
  }
}

}  // namespace

int memory(Runtime& runtime, std::ostream& out, const MemoryArguments& arguments) {
  if (arguments.path.empty()) {
    print_devices(runtime, out);
  } else if (!arguments.page.empty()) {
    write_page(arguments.page, read_snapshot(arguments.path));
  } else if (arguments.follow) {
    follow(runtime, out, arguments);
  } else {
    show(out, arguments.path);
  }
  return 0;
}

}  // namespace vectis::app
