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

// The macro of the architecture that the compiler defines: "__gfx90a__".
inline std::string hip_architecture_macro() {
  const std::string name = hip_architecture();
  return "__" + name.substr(0, name.find(':')) + "__";
}

}  // namespace vectis::test_driver
