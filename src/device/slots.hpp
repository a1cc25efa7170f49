// Reading a plug-in's table: its version, its size, and which slots it fills.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/device/backend.h"

namespace vectis::inline v0_1::detail {

// A slot of the contract by name. `group` members are all filled or all NULL.
struct SlotEntry {
  enum class Need { required, optional, group };
  std::string_view name;
  std::size_t offset;
  Need need;
};

std::span<const SlotEntry> slot_entries() noexcept;
bool filled(const VectisBackend& table, const SlotEntry& slot) noexcept;

struct CheckedTable {
  std::optional<VectisBackend> table;  // cut or padded to this host's size
  std::string problem;                 // one sentence when there is none
};

// Looks only at what lies inside `table.size`.
CheckedTable check_table(const VectisBackend& table);

}  // namespace vectis::inline v0_1::detail
