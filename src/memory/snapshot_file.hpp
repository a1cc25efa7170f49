// Snapshots on disk: one per out-of-memory error, and one live snapshot that is kept up to date. Neither throws: a
// failed write must not fail an allocation.
#pragma once

#include <string>

#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::detail {

class DevicePool;

// Writes a snapshot of the pool as JSON and HTML to `folder` and returns the path of the HTML. Never overwrites a
// file. Returns an empty string when `folder` is empty, when writing failed, and from the ninth call per Runtime on,
// so that repeated failures do not fill the disk. The caller holds no lock of the pool. Does not throw.
std::string write_snapshot(const DevicePool& pool, const std::string& folder, const OutOfMemoryReport& report) noexcept;

// Replaces `folder`/live-<device>.json atomically by a new snapshot: readers see the old or the new file, also when
// several processes write it. The file is readable by this user alone (Os::replace_file). Returns false when writing
// failed; the old file then stays. The caller holds no lock of the pool. Does not throw.
bool replace_live_snapshot(const DevicePool& pool, const std::string& folder) noexcept;

}  // namespace vectis::inline v0_1::detail
