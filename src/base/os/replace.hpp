// Files put in place whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// As Os::replace_file.
void replace_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace vectis::inline v0_1
