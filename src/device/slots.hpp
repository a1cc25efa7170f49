// Validates a plug-in's table: ABI version, size, and required slots.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/device/backend.h"

namespace vectis::inline v0_1::detail {

// One slot of the backend ABI: its name, its offset in VectisBackend and whether a plug-in must set it. Slots of the
// `group` must be all set or all NULL.
struct SlotEntry {
  enum class Need { required, optional, group };
  std::string_view name;
  std::size_t offset;
  Need need;
};

// Returns the entries of all slots in the order of the table; valid until the process ends. Does not throw.
std::span<const SlotEntry> slot_entries() noexcept;
// Returns true when `table` sets `slot` to a function, false when it is NULL. `table` must be a complete
// VectisBackend, such as the result of check_table(). Does not throw.
bool filled(const VectisBackend& table, const SlotEntry& slot) noexcept;

// The result of check_table(): a copy of the plug-in's table, or the problem that makes it invalid.
struct CheckedTable {
  std::optional<VectisBackend> table;  // truncated or zero-padded to this host's size; empty when invalid
  std::string problem;                 // one sentence when the table is invalid
};

// Copies a plug-in's table, of which only the first `table.size` bytes are read, and validates it. Returns an empty
// `table` and a `problem` for a table that is too small, another major ABI version, an invalid name, or a missing
// required slot.
CheckedTable check_table(const VectisBackend& table);

}  // namespace vectis::inline v0_1::detail
