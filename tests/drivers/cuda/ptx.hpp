// PTX that the real NVRTC made, which travels in the plug-in. No machine here runs it: the driver reads its head and
// the parameters of its kernels, finds the CUDA text it was made of by the hash in its first line, and runs that text
// as host code.
#pragma once

#include <memory>

#include "kernels.hpp"

namespace vectis::test_driver {

// Whether an image is PTX, and not one of image_text.
bool is_ptx(const char* image);

// Refuses with 218 what is no PTX or of no text known here, 222 what states a newer version than the driver's CUDA
// reads, and 209 what needs a newer device. Kernels that the text and the PTX do not both have, with the same
// parameters, are a violation.
std::shared_ptr<Module> load_ptx(const char* image, int architecture, int driver_version);

}  // namespace vectis::test_driver
