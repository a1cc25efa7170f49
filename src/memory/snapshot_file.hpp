// Snapshots on disk: one left behind when a pool could not give memory, one kept up to date while it lives. Neither
// throws: memory is more important than a file about it.
#pragma once

#include <string>

#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::detail {

class DevicePool;

// Writes snapshots as JSON and HTML into `folder` and returns the HTML's path; empty when the folder is, or nothing
// could be written. The pools of a Runtime write at most eight: a program that lives with failing allocations must not
// fill the disk. Files that are there already stay.
std::string write_snapshot(const DevicePool& pool, const std::string& folder, const OutOfMemoryReport& report) noexcept;

// Replaces `folder`/live-<device>.json at once, so that readers see the old or the new one. False when that failed.
bool write_live_snapshot(const DevicePool& pool, const std::string& folder) noexcept;

}  // namespace vectis::inline v0_1::detail
