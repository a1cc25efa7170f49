// Replays a recorded allocation log against the memory pool, plain device allocation and a best-fit arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "vectis/base/runtime.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/device.hpp"
#include "vectis/memory/log.hpp"

namespace vectis::app {

// Internal fragmentation of a replay: (allocated - requested) / requested bytes over the live buffers, sampled after
// every event.
struct ReplayWaste {
  double at_peak = 0;  // at the high-water mark of requested bytes
  double mean = 0;     // over all events, weighted by the live bytes
  double max = 0;      // over the events with at least 1/16 of the high-water mark live
};

// Measurements of one allocator in a replay.
struct ReplayResult {
  std::string allocator;         // "pool", "device", "best fit"
  Duration per_event{0};         // median over the rounds
  std::uint64_t peak_bytes = 0;  // high-water mark of device memory held
  ReplayWaste waste;
  std::uint64_t device_allocations = 0;       // in the first pass, which starts empty
  std::uint64_t device_allocations_last = 0;  // in the last round: the steady state of a repeating program
};

// Result of replay(): the log, the device and the measurements of each allocator.
struct ReplayReport {
  std::string device;  // "cpu:0 (name)"
  std::size_t events = 0;
  std::size_t allocations = 0;
  std::uint64_t peak_requested_bytes = 0;
  std::size_t rounds = 0;
  std::vector<ReplayResult> results;  // pool, device, best fit
};

// Runs the log once per allocator to measure memory, then `rounds` times, interleaved, to measure time; releases live
// buffers after each round and accesses no buffer's content. Throws InvalidInput for 0 rounds, a log that
// validate_allocation_log rejects or a buffer beyond the device's largest allocation, and OutOfMemoryError or
// Allocation when memory is short.
ReplayReport replay(Runtime& runtime, const Device& device, const AllocationLog& log, std::size_t rounds);

// Prints the report as a table with a legend. Does not throw when writing fails: check the state of `out` afterwards.
void print(std::ostream& out, const ReplayReport& report);
// Writes the report as a JSON object. Does not throw when writing fails: check the state of `out` afterwards.
void write_json(std::ostream& out, const ReplayReport& report);

}  // namespace vectis::app
