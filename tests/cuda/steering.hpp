// Control of the test driver's libraries that the environment names.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/drivers/cuda/steer.h"

namespace vectis::test {

// `variable` names the library, as the plug-in's setting does: "VECTIS_BACKENDS_CUDA_DRIVER".
inline const VectisTestDriver& steering(const char* variable) {
  const char* file = std::getenv(variable);
  void* library = file == nullptr ? nullptr : dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string(variable) + " names no library that can be opened");
  return *reinterpret_cast<VectisTestDriverEntry>(dlsym(library, VECTIS_TEST_DRIVER_ENTRY))();
}

inline const VectisTestDriver& driver_of(const std::string& backend) {
  return steering(backend == "hip" ? "VECTIS_BACKENDS_HIP_DRIVER" : "VECTIS_BACKENDS_CUDA_DRIVER");
}

// How often a function of a library was called since its last reset.
inline std::uint32_t calls_of(const VectisTestDriver& library, const std::string& function) {
  for (std::uint32_t index = 0; index < library.function_count(); ++index) {
    if (library.function_name(index) == function) return library.calls(index);
  }
  return 0;
}

// The backends of this build that run on the test driver.
inline std::vector<std::string> test_driver_backends() {
  std::vector<std::string> names;
#if defined(VECTIS_HAS_CUDA)
  names.emplace_back("cuda");
#endif
#if defined(VECTIS_HAS_HIP)
  names.emplace_back("hip");
#endif
  return names;
}

}  // namespace vectis::test
