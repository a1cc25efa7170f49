// Makes the plug-in's own `new` fail. This test program replaces operator new; only calls that come straight from the
// plug-in's code on the armed thread are counted, so that the driver never sees a failure of this kind.
#pragma once

#include <cstdint>

namespace vectis::test {

// From now on this thread's `nth` allocation by the plug-in throws std::bad_alloc; 0: none, they are only counted.
void arm_allocation_fault(std::uint32_t nth);
// Stops, and says how many allocations the plug-in has made since.
std::uint32_t disarm_allocation_fault();

}  // namespace vectis::test
