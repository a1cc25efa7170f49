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

// Internal fragmentation: (allocated - requested) / requested over the live buffers, sampled after every event.
struct ReplayWaste {
  double at_peak = 0;  // at the high-water mark of requested bytes
  double mean = 0;     // over all events, weighted by the live bytes
  double max = 0;      // over the events with at least 1/16 of the high-water mark live
};

struct ReplayResult {
  std::string allocator;         // "pool", "device", "best fit"
  Duration per_event{0};         // median over the rounds
  std::uint64_t peak_bytes = 0;  // high-water mark of device memory held
  ReplayWaste waste;
  std::uint64_t device_allocations = 0;       // in the first pass, which starts empty
  std::uint64_t device_allocations_last = 0;  // in the last round: the steady state of a repeating program
};

struct ReplayReport {
  std::string device;  // "cpu:0 (name)"
  std::size_t events = 0;
  std::size_t allocations = 0;
  std::uint64_t peak_requested_bytes = 0;
  std::size_t rounds = 0;
  std::vector<ReplayResult> results;  // pool, device, best fit
};

// Runs the log once per allocator to measure memory, then `rounds` times (at least 1), interleaved, to measure time.
// Buffers still live at the end of a round are released before the next. No buffer's content is accessed. Throws
// InvalidInput for 0 rounds or a buffer beyond the device's largest allocation, OutOfMemoryError or Allocation when the
// device has too little memory.
ReplayReport replay(Runtime& runtime, const Device& device, const AllocationLog& log, std::size_t rounds);

// Prints a table.
void print(std::ostream& out, const ReplayReport& report);
void write_json(std::ostream& out, const ReplayReport& report);

}  // namespace vectis::app
