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

// Prints the rows as a table to `out`, and one line for each kind of event that the profiler could not record
// (dropped records, missing timestamps, too many names, exceptions of sinks). Shares are of session.on, the time the
// profiler was enabled. A failure to write sets the state of `out`; it throws only if its exceptions are enabled.
void print_summary(std::ostream& out, std::span<const ProfileRow> rows, const ProfileSession& session);

// Writes a snapshot as a trace in the Trace Event Format (JSON), in chunks passed to `write`, which must not be
// empty. An exception of `write` propagates and ends the trace.
void write_trace(const ProfileSnapshot& snapshot, const std::function<void(std::string_view)>& write);

}  // namespace vectis::inline v0_1::detail
