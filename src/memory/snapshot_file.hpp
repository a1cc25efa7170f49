// Snapshots on disk: one per out-of-memory error, and one live snapshot that is kept up to date. Neither throws: a
// failed write must not fail an allocation.
#pragma once

#include <string>

#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::detail {

class DevicePool;

// Writes a snapshot as JSON and HTML to `folder` and returns the path of the HTML; empty when `folder` is, or writing
// failed. Never overwrites a file. The pools of a Runtime write at most eight, so that a program that lives with
// failing allocations does not fill the disk.
std::string write_snapshot(const DevicePool& pool, const std::string& folder, const OutOfMemoryReport& report) noexcept;

// Replaces `folder`/live-<device>.json atomically: readers see the old or the new file. False when that failed.
bool replace_live_snapshot(const DevicePool& pool, const std::string& folder) noexcept;

}  // namespace vectis::inline v0_1::detail
