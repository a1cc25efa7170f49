#include "search/exact/id_lookup.hpp"

#include <algorithm>
#include <bit>

#include "search/common/id_hash.hpp"

namespace vectis::inline v0_1::exact {

// Open addressing with at least two slots per row, so that probing ends.
struct IdLookup::Table {
  explicit Table(std::size_t capacity)
      : bits(static_cast<int>(std::bit_width(std::max<std::size_t>(2 * capacity, 2) - 1))),
        slots(std::make_unique<std::atomic<std::uint32_t>[]>(std::size_t{1} << bits)) {}

  [[nodiscard]] std::size_t slot_of(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>(hash(id) >> (64 - bits));
  }
  [[nodiscard]] std::size_t after(std::size_t slot) const noexcept {
    return (slot + 1) & ((std::size_t{1} << bits) - 1);
  }

  int bits;
  detail::IdHash hash;
  std::unique_ptr<std::atomic<std::uint32_t>[]> slots;  // a row + 1; 0: free
};

namespace {

bool are_consecutive(std::uint64_t first, std::span<const std::uint64_t> ids) noexcept {
  std::uint64_t differences = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) differences |= ids[i] ^ (first + i);
  return differences == 0;
}

}  // namespace

IdLookup::IdLookup(std::span<const std::uint64_t> ids, std::size_t capacity)
    : capacity_(capacity), lowest_(ids.front()), highest_(ids.front()) {
  append(ids, 0);
}

void IdLookup::append(std::span<const std::uint64_t> segment_ids, std::size_t first_row) {
  const auto added = segment_ids.subspan(first_row);
  if (added.empty()) return;
  const std::uint64_t next = lowest_ + first_row;
  // Ids that wrap around 2^64 are not consecutive: they need the table.
  const bool consecutive =
      table_ == nullptr && next >= lowest_ && next + (added.size() - 1) >= next && are_consecutive(next, added);
  if (consecutive) {
    highest_ = next + (added.size() - 1);
    return;
  }
  const bool fresh = table_ == nullptr;
  if (fresh) table_ = std::make_shared<Table>(capacity_);
  enter(segment_ids, fresh ? 0 : first_row);
  const auto [low, high] = std::ranges::minmax(added);
  lowest_ = std::min(lowest_, low);
  highest_ = std::max(highest_, high);
}

void IdLookup::enter(std::span<const std::uint64_t> segment_ids, std::size_t first_row) noexcept {
  for (std::size_t row = first_row; row < segment_ids.size(); ++row) {
    std::size_t slot = table_->slot_of(segment_ids[row]);
    while (table_->slots[slot].load(std::memory_order_relaxed) != 0) slot = table_->after(slot);
    table_->slots[slot].store(static_cast<std::uint32_t>(row + 1), std::memory_order_release);
  }
}

std::optional<std::size_t> IdLookup::find(const SegmentView& view, std::uint64_t id) const noexcept {
  if (id < lowest_ || id > highest_) return std::nullopt;
  if (table_ == nullptr) {
    const auto row = static_cast<std::size_t>(id - lowest_);
    return view.is_removed(row) ? std::nullopt : std::optional(row);
  }
  // An id that was removed and added again has several rows here; at most one is live.
  for (std::size_t slot = table_->slot_of(id);; slot = table_->after(slot)) {
    const std::uint32_t entry = table_->slots[slot].load(std::memory_order_acquire);
    if (entry == 0) return std::nullopt;
    const std::size_t row = entry - 1;
    if (row < view.rows && view.ids[row] == id && !view.is_removed(row)) return row;
  }
}

std::size_t IdLookup::bytes() const noexcept {
  return table_ == nullptr ? 0 : (std::size_t{1} << table_->bits) * sizeof(std::uint32_t);
}

}  // namespace vectis::inline v0_1::exact
