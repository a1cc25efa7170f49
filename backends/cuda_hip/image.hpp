// Compiled code as it is kept. The driver takes code without a length and trusts it, so what is kept says its own
// length and checksum, and what was cut or changed is refused before the driver sees it.
#pragma once

#include <string>
#include <string_view>

namespace vectis::cuda_hip {

std::string kept_image(std::string_view code);

// The code inside; throws INVALID_INPUT when `kept` is no whole image.
std::string code_of_image(std::string_view kept);

}  // namespace vectis::cuda_hip
