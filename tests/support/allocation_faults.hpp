// Makes `new` fail in the code of one module, a plug-in or the program itself. A test program with
// allocation_faults.cpp replaces operator new; only calls that come straight from the module's code on the armed thread
// are counted, so that a driver below it never sees a failure of this kind.
#pragma once

#include <cstdint>

namespace vectis::test {

// Which `new`: the one that throws std::bad_alloc, or `new (std::nothrow)`.
enum class NewForm : std::uint8_t { throwing, nothrow };

// Makes this thread's `nth` allocation by the module that contains `address` fail; 0: only counts allocations.
void arm_allocation_fault(const void* address, NewForm form, std::uint32_t nth);
// Stops counting; returns the number of such allocations since arm.
std::uint32_t disarm_allocation_fault();

}  // namespace vectis::test
