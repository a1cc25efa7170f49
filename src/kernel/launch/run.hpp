// The portable form of an operation, apart from the rest of run().
#pragma once

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Plans, compiles and enqueues the operation's kernels, without asking the backend's `run_op` and without remembering
// the plan. `call` has passed check_call. Throws NoCompiler if the device compiles no language kernels are printed in,
// and InvalidInput if a view is beyond 32-bit indices or cannot be split to what the device binds.
void run_portable(Stream& stream, const OperationCall& call);

}  // namespace vectis::inline v0_1::detail
