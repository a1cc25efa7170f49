#include "kernel/launch/dialect.hpp"

namespace vectis::inline v0_1::detail {

std::optional<Dialect> printed_dialect(const DeviceInfo& info, KernelOrigin origin) {
  for (const std::string& word : info.dialects) {
    const auto dialect = parse_dialect(word);
    if (dialect && (origin == KernelOrigin::generated || *dialect != Dialect::wgsl)) return dialect;
  }
  return std::nullopt;
}

}  // namespace vectis::inline v0_1::detail
