// Makes `new` fail in the code of one module, a plug-in or the program itself, or everywhere. A test program with
// allocation_faults.cpp replaces operator new. Where a module is named, only calls that come straight from its code on
// the armed thread are counted, so that a driver below it never sees a failure of this kind.
#pragma once

#include <cstdint>

namespace vectis::test {

// Which `new`: the one that throws std::bad_alloc, or `new (std::nothrow)`.
enum class NewForm : std::uint8_t { throwing, nothrow };

// Makes this thread's `nth` allocation by the module that contains `address` fail, or by any module when `address` is
// null; nth 0: only counts allocations. A persistent fault makes all later allocations fail as well, until disarmed.
void arm_allocation_fault(const void* address, NewForm form, std::uint32_t nth, bool persistent = false);
// Stops counting; returns the number of such allocations since arm.
std::uint32_t disarm_allocation_fault();

}  // namespace vectis::test
