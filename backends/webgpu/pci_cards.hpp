// The graphics cards on the PCI bus, of which WebGPU states vendor and device ids but neither address nor memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vectis::webgpu {

// A graphics card or accelerator as Linux describes it.
struct PciCard {
  std::string address;  // "0000:0a:00.0"
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint64_t memory_bytes = 0;  // its own memory, which the driver amdgpu states; 0: unknown
};

// What is known about an adapter from the cards that it may be.
struct MatchedCard {
  std::optional<std::string> address;  // only when exactly one card matches
  std::uint64_t memory_bytes = 0;      // 0: unknown, or different for several cards that match
};

// Returns the display controllers and processing accelerators in `folder`, /sys/bus/pci/devices or a copy of it, in the
// order of their addresses; empty when there is no such folder. Entries that cannot be read are left out.
std::vector<PciCard> list_pci_cards(const std::filesystem::path& folder);

// Matches an adapter by its PCI vendor and device id. With device 0, which OpenGL adapters state, the vendor decides.
MatchedCard match_card(const std::vector<PciCard>& cards, std::uint32_t vendor, std::uint32_t device);

}  // namespace vectis::webgpu
