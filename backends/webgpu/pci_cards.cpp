#include "pci_cards.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace vectis::webgpu {

namespace {

namespace fs = std::filesystem;

// The number in a file of sysfs: decimal, or hexadecimal after "0x". Nothing when it cannot be read.
std::optional<std::uint64_t> read_number(const fs::path& file) {
  std::string text;
  if (!(std::ifstream(file) >> text)) return std::nullopt;
  std::string_view digits = text;
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [stopped, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || stopped != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool is_card(std::uint64_t device_class) {
  constexpr std::uint64_t display = 0x03;
  constexpr std::uint64_t accelerator = 0x12;
  const std::uint64_t base = device_class >> 16U;
  return base == display || base == accelerator;
}

std::optional<PciCard> read_card(const fs::path& folder) {
  const auto device_class = read_number(folder / "class");
  if (!device_class || !is_card(*device_class)) return std::nullopt;
  const auto vendor = read_number(folder / "vendor");
  const auto device = read_number(folder / "device");
  if (!vendor || !device) return std::nullopt;
  return PciCard{folder.filename().string(), static_cast<std::uint32_t>(*vendor), static_cast<std::uint32_t>(*device),
                 read_number(folder / "mem_info_vram_total").value_or(0)};
}

}  // namespace

std::vector<PciCard> list_pci_cards(const fs::path& folder) {
  std::vector<PciCard> cards;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (auto card = read_card(entry->path())) cards.push_back(std::move(*card));
  }
  std::ranges::sort(cards, {}, &PciCard::address);
  return cards;
}

MatchedCard match_card(const std::vector<PciCard>& cards, std::uint32_t vendor, std::uint32_t device) {
  std::vector<PciCard> matching;
  std::ranges::copy_if(cards, std::back_inserter(matching), [&](const PciCard& card) {
    return card.vendor == vendor && (device == 0 || card.device == device);
  });
  MatchedCard matched;
  if (matching.empty()) return matched;
  if (matching.size() == 1) matched.address = matching.front().address;
  const std::uint64_t bytes = matching.front().memory_bytes;
  if (std::ranges::all_of(matching, [&](const PciCard& card) { return card.memory_bytes == bytes; })) {
    matched.memory_bytes = bytes;
  }
  return matched;
}

}  // namespace vectis::webgpu
