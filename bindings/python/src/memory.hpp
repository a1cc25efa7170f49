// The memory tag of the code that runs.
#pragma once

#include <string>

#include "vectis/base/context.hpp"

namespace vectis::python {

// Returns `context` with the tag of the innermost vectis.memory.scope() around the calling Python code; `context`
// itself outside of scopes. Tasks of asyncio and threads have scopes of their own. Needs the GIL.
Context with_scope_tag(const Context& context);

}  // namespace vectis::python
