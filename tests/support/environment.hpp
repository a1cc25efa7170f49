// The environment of a test program. Its CMakeLists lists it, and CMake writes the file that defines it.
#pragma once

namespace vectis::test {

extern const char* const environment[];  // NAME=value, up to a null pointer

}  // namespace vectis::test
