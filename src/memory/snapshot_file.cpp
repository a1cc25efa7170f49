#include "memory/snapshot_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>

#include "memory/device_pool.hpp"
#include "memory/human.hpp"

namespace vectis::inline v0_1::detail {

namespace {

namespace fs = std::filesystem;

constexpr int snapshots_max = 8;
constexpr int names_max = 100'000;  // tried before giving up
constexpr Duration live_interval = std::chrono::seconds(1);

// How many snapshots the pools of this Runtime may still write. Thread-safe.
struct SnapshotQuota {
  explicit SnapshotQuota(Runtime&) {}
  std::atomic<int> left{snapshots_max};
};

// "opencl-0": a label that is a file's name everywhere.
std::string file_label(const DevicePool& pool) {
  std::string label = pool.context().device().label();
  std::ranges::replace_if(label, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return label;
}

// What happened, in a sentence; the numbers follow.
std::string headline(const OutOfMemoryReport& report) {
  const std::string asked = fmt::format("{} could not be given", human(report.requested_bytes));
  switch (report.kind) {
    case OutOfMemoryKind::over_limit:
      return fmt::format("{}: with what is in use it would exceed the pool's limit of {}.", asked,
                         human(report.limit_bytes));
    case OutOfMemoryKind::fragmented:
      return fmt::format("{}: {} are free in the pool, but no piece is large enough.", asked,
                         human(report.cached_bytes));
    case OutOfMemoryKind::held_in_cache:
      return fmt::format("{}: {} are cached, but streams still use them.", asked, human(report.cached_bytes));
    case OutOfMemoryKind::held_by_others:
      return fmt::format("{}: other processes hold the rest of the device.", asked);
    case OutOfMemoryKind::full:
      break;
  }
  return fmt::format("{}: live buffers fill the device.", asked);
}

bool write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  write(file);
  file.close();
  if (file) return true;
  std::error_code ignored;
  fs::remove(path, ignored);
  return false;
}

// The first numbered name of which there is no file yet.
fs::path unused_stem(const fs::path& folder, const std::string& label) {
  for (int number = 1; number <= names_max; ++number) {
    fs::path stem = folder / fmt::format("memory-{}-{}", label, number);
    if (!fs::exists(fs::path(stem).concat(".json")) && !fs::exists(fs::path(stem).concat(".html"))) return stem;
  }
  return {};
}

}  // namespace

std::string write_snapshot(const DevicePool& pool, const std::string& folder, const OutOfMemoryReport& report) noexcept
    try {
  if (folder.empty() || pool.runtime().service<SnapshotQuota>().left.fetch_sub(1) <= 0) return {};
  fs::create_directories(folder);
  const fs::path stem = unused_stem(folder, file_label(pool));
  if (stem.empty()) return {};
  const MemorySnapshot snapshot = pool.snapshot(headline(report) + "\n" + report.text());
  const fs::path page = fs::path(stem).concat(".html");
  const fs::path data = fs::path(stem).concat(".json");
  if (!write_file(data, [&](std::ostream& out) { write_json(out, snapshot); })) return {};
  if (!write_file(page, [&](std::ostream& out) { write_html(out, snapshot); })) return {};
  return page.string();
} catch (...) {
  return {};
}

bool write_live_snapshot(const DevicePool& pool, const std::string& folder) noexcept try {
  fs::create_directories(folder);
  const fs::path path = fs::path(folder) / fmt::format("live-{}.json", file_label(pool));
  const fs::path fresh = fs::path(path).concat(".new");
  const MemorySnapshot snapshot = pool.snapshot("");
  if (!write_file(fresh, [&](std::ostream& out) { write_json(out, snapshot); })) return false;
  fs::rename(fresh, path);
  return true;
} catch (...) {
  return false;
}

// What happens within a second after the first use is in the next snapshot; an idle pool writes nothing.
void DevicePool::schedule_live() noexcept try {
  if (policy_.live_folder.empty() || live_scheduled_.exchange(true, std::memory_order_relaxed)) return;
  runtime_.executor().post_after(live_interval, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->write_live();
  });
} catch (...) {
  live_scheduled_.store(false, std::memory_order_relaxed);
}

void DevicePool::write_live() {
  live_scheduled_.store(false, std::memory_order_relaxed);
  if (write_live_snapshot(*this, policy_.live_folder)) return;
  runtime_.logger().log(LogLevel::warning, "memory",
                        fmt::format("no snapshot can be kept in {}; check memory.live, permissions and the space left",
                                    policy_.live_folder));
}

}  // namespace vectis::inline v0_1::detail
