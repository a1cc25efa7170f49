// The name of the devices' architecture in HIP.
#pragma once

#include <string>

#include "driver.hpp"

namespace vectis::test_driver {

// gcnArchName of every device: "gfx90a:sramecc+:xnack-" for the architecture 90, otherwise "gfx<architecture>". The
// setting "no_architecture" makes it a text that names none.
inline std::string hip_architecture() {
  if (Control::get().setting("no_architecture", 0) != 0) return "Radeon";
  const int number = Driver::architecture();
  return number == 90 ? "gfx90a:sramecc+:xnack-" : "gfx" + std::to_string(number);
}

}  // namespace vectis::test_driver
