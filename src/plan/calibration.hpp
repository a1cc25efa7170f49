// Calibration: the micro-benchmarks that make a device profile, over an interface that tests can simulate.
#pragma once

#include <cstdint>
#include <optional>

#include "vectis/base/dtype.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

// Runs elementary operations and returns the seconds each took, including the wait for its end. The first call of a
// kind may be slower: it may compile, allocate or leave a power-saving state.
class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  virtual double launch() = 0;  // a kernel with next to no work
  virtual double copy_to_device(std::uint64_t bytes) = 0;
  virtual double copy_to_host(std::uint64_t bytes) = 0;
  virtual double copy_on_device(std::uint64_t bytes) = 0;  // reads and writes `bytes` each
  // True when the device has instructions for a precision; without them it computes at about the fp32 rate.
  [[nodiscard]] virtual bool has(Precision precision) const = 0;
  // Multiplies two square matrices; empty when the device cannot in that precision.
  virtual std::optional<double> multiply(Precision precision, std::uint64_t side) = 0;
  // Lower bound of the arithmetic rate over the memory bandwidth (operations per byte, the machine balance) on an idle
  // machine; 0 when unknown.
  [[nodiscard]] virtual double min_balance() const = 0;
  // Estimated time to compile a kernel; 0 where nothing is compiled. `warm_up_seconds` is how much longer the slowest
  // first run took than the next one.
  [[nodiscard]] virtual double compile_seconds(double warm_up_seconds) const = 0;
  // Largest size of a copy.
  [[nodiscard]] virtual std::uint64_t max_bytes() const = 0;
  // Resolution of the clock, seconds.
  [[nodiscard]] virtual double resolution() const = 0;
  // Seconds since construction.
  [[nodiscard]] virtual double elapsed() const = 0;
};

// Measures a profile named `device`. When `max_seconds` are nearly used up, skips precisions other than fp32 and
// returns an incomplete profile.
DeviceProfile calibrate_with(Probe& probe, std::string device, double max_seconds);

}  // namespace vectis::inline v0_1::detail
