// Exporters of a profile: a summary table, and a trace in the Trace Event Format that Perfetto and chrome://tracing
// read.
//
// In the trace, process 1 is the host, with one track per thread. Each device is a process with one track per stream
// and a counter track for its memory pool. A flow event connects a submission with its work. docs/profiler.md describes
// it.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string_view>

#include "kernel/profiler/event_log.hpp"
#include "vectis/kernel/profiler.hpp"

namespace vectis::inline v0_1::detail {

// Prints the rows as a table, and one line for each kind of loss.
void print_summary(std::ostream& out, std::span<const ProfileRow> rows, const ProfileSession& session);

// Writes the JSON text in chunks.
void write_trace(const ProfileSnapshot& snapshot, const std::function<void(std::string_view)>& write);

}  // namespace vectis::inline v0_1::detail
