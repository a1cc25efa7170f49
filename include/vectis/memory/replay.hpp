// A recorded allocation log run again: against the pool, plain device allocation, and an ideal arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/context.hpp"
#include "vectis/memory/log.hpp"

namespace vectis::inline v0_1 {

// (allocated - requested) / requested over the live buffers, at moments after an event of the log.
struct ReplayWaste {
  double at_peak = 0;  // when most was requested
  double mean = 0;     // over all events, weighted by the bytes live then
  double max = 0;      // at the worst moment with at least a sixteenth of the peak live
};

struct ReplayResult {
  std::string allocator;         // "pool", "device", "best fit"
  Duration per_event{0};         // median of the rounds
  std::uint64_t peak_bytes = 0;  // held of the device at once
  ReplayWaste waste;
  std::uint64_t device_allocations = 0;       // in one pass from nothing
  std::uint64_t device_allocations_last = 0;  // in the last round: what a repeating program would go on doing
};

struct ReplayReport {
  std::string device;  // "cpu:0 (name)"
  std::size_t events = 0;
  std::size_t allocations = 0;
  std::uint64_t peak_requested_bytes = 0;
  std::size_t rounds = 0;
  std::vector<ReplayResult> results;  // pool, device, best fit
};

// Runs the log once from nothing to see what is held, then `rounds` times (at least 1) interleaved for time; what a
// round leaves live is released before the next. No buffer is touched. OutOfMemoryError or Allocation when the device
// has not enough.
VECTIS_API ReplayReport replay(Runtime& runtime, const DeviceContext& context, const AllocationLog& log,
                               std::size_t rounds);

// A table for people.
VECTIS_API void print(std::ostream& out, const ReplayReport& report);
VECTIS_API void write_json(std::ostream& out, const ReplayReport& report);

}  // namespace vectis::inline v0_1
