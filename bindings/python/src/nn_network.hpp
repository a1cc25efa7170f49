// The native module behind vectis.nn.Network.
#pragma once

#include "nn_module.hpp"
#include "vectis/nn/network.hpp"

namespace vectis::python {

using NativeNetwork = Native<nn::Network>;

}  // namespace vectis::python
