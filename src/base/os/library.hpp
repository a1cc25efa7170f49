// Shared libraries through the dynamic loader.
#pragma once

#include <string>

#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

OpenedLibrary open_library(const std::string& name);
void* library_symbol(void* library, const std::string& name);
std::string own_module_directory();

}  // namespace vectis::inline v0_1
