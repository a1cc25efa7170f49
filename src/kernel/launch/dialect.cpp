#include "kernel/launch/dialect.hpp"

namespace vectis::inline v0_1::detail {

namespace {

bool takes(Dialect dialect, KernelOrigin origin) noexcept {
  if (dialect == Dialect::wgsl) return origin == KernelOrigin::generated;
  if (dialect == Dialect::glsl_webgpu) return origin != KernelOrigin::users;
  return true;
}

}  // namespace

std::optional<Dialect> printed_dialect(const DeviceInfo& info, KernelOrigin origin) {
  for (const std::string& word : info.dialects) {
    const auto dialect = parse_dialect(word);
    if (dialect && takes(*dialect, origin)) return dialect;
  }
  return std::nullopt;
}

}  // namespace vectis::inline v0_1::detail
