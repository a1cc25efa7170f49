// Kernels that a plug-in carries compiled, found by the text they were made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace vectis::plugin {

// FNV-1a.
constexpr std::uint64_t text_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

// The kernel of this text; null when there is none. `text` of a kernel is the text_hash, by which the table ascends.
template <class Kernel>
const Kernel* find_kernel(std::span<const Kernel> table, std::string_view text) noexcept {
  const std::uint64_t hash = text_hash(text);
  const auto found = std::lower_bound(table.begin(), table.end(), hash,
                                      [](const Kernel& kernel, std::uint64_t wanted) { return kernel.text < wanted; });
  return found == table.end() || found->text != hash ? nullptr : &*found;
}

}  // namespace vectis::plugin
