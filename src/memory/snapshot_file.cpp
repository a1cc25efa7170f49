#include "memory/snapshot_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <sstream>

#include "memory/device_pool.hpp"

namespace vectis::inline v0_1::detail {

namespace {

namespace fs = std::filesystem;

constexpr int max_snapshots = 8;    // per Runtime
constexpr int max_names = 100'000;  // numbered file names tried before giving up
constexpr Duration live_interval = std::chrono::seconds(1);

// Snapshots of out-of-memory errors that the pools of a Runtime may still write. Thread-safe.
struct SnapshotQuota {
  explicit SnapshotQuota(Runtime&) {}
  std::atomic<int> left{max_snapshots};
};

// "opencl-0": the device's label as part of a file name.
std::string file_label(const DevicePool& pool) {
  std::string label = pool.context().device().label();
  std::ranges::replace_if(label, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return label;
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

// Creates an empty file; false when there is one, or it cannot be created.
bool create_file(const fs::path& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wbx");  // x: fails if the file exists, also for another process
  return file != nullptr && std::fclose(file) == 0;
}

// The first numbered name without files, whose .json file is then created: no other process takes the same name. Empty
// when there is none.
fs::path claim_stem(const fs::path& folder, const std::string& label) {
  for (int number = 1; number <= max_names; ++number) {
    fs::path stem = folder / fmt::format("memory-{}-{}", label, number);
    const fs::path data = fs::path(stem).concat(".json");
    if (fs::exists(data) || fs::exists(fs::path(stem).concat(".html"))) continue;
    if (create_file(data)) return stem;
    if (!fs::exists(data)) return {};
  }
  return {};
}

}  // namespace

std::string write_snapshot(const DevicePool& pool, const std::string& folder, const OutOfMemoryReport& report) noexcept
    try {
  if (folder.empty() || pool.runtime().service<SnapshotQuota>().left.fetch_sub(1) <= 0) return {};
  fs::create_directories(folder);
  const MemorySnapshot snapshot = pool.snapshot(describe_failure(report) + "\n" + report.text());
  const fs::path stem = claim_stem(folder, file_label(pool));
  if (stem.empty()) return {};
  const fs::path page = fs::path(stem).concat(".html");
  const fs::path data = fs::path(stem).concat(".json");
  if (!write_file(data, [&](std::ostream& out) { write_json(out, snapshot); })) return {};
  if (!write_file(page, [&](std::ostream& out) { write_html(out, snapshot); })) return {};
  return page.string();
} catch (...) {
  return {};
}

bool replace_live_snapshot(const DevicePool& pool, const std::string& folder) noexcept try {
  fs::create_directories(folder);
  const fs::path path = fs::path(folder) / fmt::format("live-{}.json", file_label(pool));
  std::ostringstream text;
  write_json(text, pool.snapshot(""));
  pool.runtime().os().replace_file(path.string(), std::as_bytes(std::span(text.view())));
  return true;
} catch (...) {
  return false;
}

// Writes one snapshot a second while the pool is used; an idle pool writes nothing.
void DevicePool::schedule_live_snapshot() noexcept try {
  if (policy_.live_folder.empty() || live_scheduled_.exchange(true, std::memory_order_relaxed)) return;
  runtime_.executor().post_after(live_interval, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->write_live_snapshot();
  });
} catch (...) {
  live_scheduled_.store(false, std::memory_order_relaxed);
}

void DevicePool::write_live_snapshot() {
  live_scheduled_.store(false, std::memory_order_relaxed);
  if (replace_live_snapshot(*this, policy_.live_folder)) return;
  runtime_.logger().log(
      LogLevel::warning, "memory",
      fmt::format("cannot write a live snapshot to {}; check memory.live, permissions and free disk space",
                  policy_.live_folder));
}

}  // namespace vectis::inline v0_1::detail
