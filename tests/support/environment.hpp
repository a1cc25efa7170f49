// The environment of a test program: listed in its CMakeLists, defined in a file that CMake generates.
#pragma once

namespace vectis::test {

extern const char* const environment[];  // NAME=value, up to a null pointer

}  // namespace vectis::test
