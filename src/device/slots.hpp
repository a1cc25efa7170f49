// Validates a plug-in's table: ABI version, size, and required slots.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/device/backend.h"

namespace vectis::inline v0_1::detail {

// A slot of the ABI. Slots of a `group` must be all set or all NULL.
struct SlotEntry {
  enum class Need { required, optional, group };
  std::string_view name;
  std::size_t offset;
  Need need;
};

std::span<const SlotEntry> slot_entries() noexcept;
// Whether the table sets the slot.
bool filled(const VectisBackend& table, const SlotEntry& slot) noexcept;

struct CheckedTable {
  std::optional<VectisBackend> table;  // truncated or zero-padded to this host's size; empty when invalid
  std::string problem;                 // one sentence when the table is invalid
};

// Reads only the first `table.size` bytes.
CheckedTable check_table(const VectisBackend& table);

}  // namespace vectis::inline v0_1::detail
