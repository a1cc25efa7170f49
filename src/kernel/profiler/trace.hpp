// A profile in Chrome's trace format, as Perfetto and chrome://tracing read it.
//
// Process 1 is the host, its threads are ours. Each device is a process of its own, its threads are streams, and its
// counters are the pool's bytes. A call and its work are joined by a flow. docs/profiler.md describes it for users.
#pragma once

#include <functional>
#include <string_view>

#include "kernel/profiler/ledger.hpp"

namespace vectis::inline v0_1::detail {

// Hands the text over in pieces.
void write_trace(const ProfileCopy& copy, const std::function<void(std::string_view)>& write);

}  // namespace vectis::inline v0_1::detail
