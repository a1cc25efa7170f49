// Sizes as text, for messages and reports.
#pragma once

#include <cstdint>
#include <string>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Returns a byte count with one decimal and a binary unit up to TiB, such as "1.5 GiB"; below 1 KiB as whole bytes.
[[nodiscard]] VECTIS_API std::string format_bytes(std::uint64_t bytes);

}  // namespace vectis::inline v0_1
