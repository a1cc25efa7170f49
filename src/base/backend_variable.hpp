// The names of the environment variables that set settings of backends.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace vectis::inline v0_1::detail {

// Returns the environment variable of the setting `key`, or how the variables of a group of settings begin:
// VECTIS_BACKENDS_OPENCL_CLBLAST for backends.opencl.clblast, VECTIS_BACKENDS_MY_TOY_ for "backends.my-toy.". Throws
// std::bad_alloc when memory is exhausted.
inline std::string backend_variable(std::string_view key) {
  std::string variable = "VECTIS_";
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    variable += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return variable;
}

}  // namespace vectis::inline v0_1::detail
