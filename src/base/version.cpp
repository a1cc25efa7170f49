#include "vectis/base/version.hpp"

namespace vectis::inline v0_1 {

std::string_view version() noexcept { return VECTIS_VERSION; }

}  // namespace vectis::inline v0_1
