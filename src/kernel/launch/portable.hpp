// Running the portable form of an operation.
#pragma once

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Enqueues the launches of the operation's plan; temporaries live in stream order. NoCompiler when the device compiles
// nothing that kernels are printed in.
void run_portable(Stream& stream, const OperationCall& call);

}  // namespace vectis::inline v0_1::detail
