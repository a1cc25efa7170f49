// The portable form of an operation, apart from the rest of run().
#pragma once

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Plans, compiles and enqueues the operation's portable kernels, without the backend's `run_op` and without caching
// the plan. `call` must have passed check_call() and have no empty view. Throws NoCompiler if the device compiles no
// dialect that kernels are printed in, InvalidInput if a view exceeds 32-bit indices or cannot be split to what the
// device binds, Unsupported if the device's limits are too small, and the stream's earlier error.
void run_portable(Stream& stream, const OperationCall& call);

}  // namespace vectis::inline v0_1::detail
