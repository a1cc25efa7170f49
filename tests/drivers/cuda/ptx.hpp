// Embedded PTX, compiled by the real NVRTC, which cannot run here: the driver reads its header and the parameters of
// its kernels, finds its CUDA text by the hash in the first line, and runs that text as host code.
#pragma once

#include <memory>

#include "kernels.hpp"

namespace vectis::test_driver {

// Whether an image is PTX, and not one of image_text.
bool is_ptx(const char* image);

// Fails with 218 for an image that is not PTX or whose text is unknown, 222 when it states a newer version than the
// driver supports, and 209 when it needs a newer device. Kernels that text and PTX do not both have, with the same
// parameters, are a violation.
std::shared_ptr<Module> load_ptx(const char* image, int architecture, int driver_version);

// The image of machine code for this architecture that the driver compiles of PTX. Fails as load_ptx does.
std::string assemble_ptx(const char* image, int architecture, int driver_version);

}  // namespace vectis::test_driver
