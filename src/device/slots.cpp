#include "device/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace vectis::inline v0_1::detail {

namespace {

using Need = SlotEntry::Need;

#define VECTIS_SLOT(name, need) \
  SlotEntry { #name, offsetof(VectisBackend, name), Need::need }

constexpr std::array entries = {
    VECTIS_SLOT(open, required),
    VECTIS_SLOT(close, required),
    VECTIS_SLOT(configure, optional),
    VECTIS_SLOT(device_count, required),
    VECTIS_SLOT(device_info, required),
    VECTIS_SLOT(device_memory, optional),
    VECTIS_SLOT(device_utilization, optional),
    VECTIS_SLOT(context_create, required),
    VECTIS_SLOT(context_destroy, required),
    VECTIS_SLOT(memory_allocate, required),
    VECTIS_SLOT(memory_free, required),
    VECTIS_SLOT(memory_slice, optional),
    VECTIS_SLOT(memory_address, optional),
    VECTIS_SLOT(stream_create, required),
    VECTIS_SLOT(stream_destroy, required),
    VECTIS_SLOT(stream_synchronize, required),
    VECTIS_SLOT(copy_to_device, required),
    VECTIS_SLOT(copy_to_host, required),
    VECTIS_SLOT(copy_on_device, required),
    VECTIS_SLOT(fill, optional),
    VECTIS_SLOT(event_create, required),
    VECTIS_SLOT(event_destroy, required),
    VECTIS_SLOT(event_record, required),
    VECTIS_SLOT(event_query, required),
    VECTIS_SLOT(event_synchronize, required),
    VECTIS_SLOT(stream_wait_event, required),
    VECTIS_SLOT(event_timestamp, optional),
    VECTIS_SLOT(program_create, group),
    VECTIS_SLOT(program_destroy, group),
    VECTIS_SLOT(kernel_create, group),
    VECTIS_SLOT(kernel_destroy, group),
    VECTIS_SLOT(launch, group),
    VECTIS_SLOT(program_binary, optional),
    VECTIS_SLOT(run_op, optional),
    VECTIS_SLOT(copy_from_peer, optional),
    VECTIS_SLOT(host_allocate, optional),
    VECTIS_SLOT(host_free, optional),
};
#undef VECTIS_SLOT

// Bytes of the fields before the first slot: version and name. A smaller table cannot be read.
constexpr std::size_t head_bytes = offsetof(VectisBackend, open);

bool well_named(const char* name) {
  if (name == nullptr || *name == '\0') return false;
  return std::all_of(name, name + std::strlen(name),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

std::string missing_slot(const VectisBackend& table) {
  for (const SlotEntry& slot : entries) {
    if (slot.need == Need::required && !filled(table, slot))
      return fmt::format("required slot '{}' is missing", slot.name);
  }
  const auto in_group = [](const SlotEntry& slot) { return slot.need == Need::group; };
  const auto is_filled = [&](const SlotEntry& slot) { return !in_group(slot) || filled(table, slot); };
  const auto is_empty = [&](const SlotEntry& slot) { return !in_group(slot) || !filled(table, slot); };
  if (std::ranges::any_of(entries, [&](const SlotEntry& slot) { return in_group(slot) && filled(table, slot); })) {
    const auto* gap = std::ranges::find_if_not(entries, is_filled);
    if (gap != entries.end()) {
      const auto* other = std::ranges::find_if_not(entries, is_empty);
      return fmt::format("slot '{}' is missing although '{}' of the same group is there", gap->name, other->name);
    }
  }
  return {};
}

}  // namespace

std::span<const SlotEntry> slot_entries() noexcept { return entries; }

bool filled(const VectisBackend& table, const SlotEntry& slot) noexcept {
  void (*function)() = nullptr;
  std::memcpy(&function, reinterpret_cast<const char*>(&table) + slot.offset, sizeof(function));
  return function != nullptr;
}

CheckedTable check_table(const VectisBackend& table) {
  if (table.size < head_bytes) {
    return {std::nullopt,
            fmt::format("its table has {} bytes, fewer than the {} of every ABI version", table.size, head_bytes)};
  }
  if (table.abi_major != VECTIS_ABI_MAJOR) {
    return {std::nullopt, fmt::format("it was built for backend ABI {}.{}, this Vectis has {}.{}; rebuild the plug-in",
                                      table.abi_major, table.abi_minor, VECTIS_ABI_MAJOR, VECTIS_ABI_MINOR)};
  }
  VectisBackend copy{};
  std::memcpy(&copy, &table, std::min(table.size, sizeof(copy)));
  if (!well_named(copy.name)) return {std::nullopt, "its name is empty or has characters other than a-z, 0-9 and _"};
  if (copy.version == nullptr) copy.version = "";
  if (copy.requirement == nullptr) copy.requirement = "";
  if (copy.install == nullptr) copy.install = "";
  std::string missing = missing_slot(copy);
  if (!missing.empty()) return {std::nullopt, std::move(missing)};
  return {copy, {}};
}

}  // namespace vectis::inline v0_1::detail
