// The version of the library in use.
#pragma once

#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

VECTIS_API std::string_view version() noexcept;  // "0.1.0"

}  // namespace vectis::inline v0_1
