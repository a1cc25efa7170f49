// Calibration: the micro-benchmarks that make a device profile, over an interface that tests can simulate.
#pragma once

#include <cstdint>
#include <optional>

#include "vectis/base/dtype.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

// Runs elementary operations on a device, real or simulated, and returns the seconds each took, including the wait
// for its end. The first call of a kind may be slower: it may compile, allocate or leave a power-saving state. One
// thread at a time.
class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  // Runs a kernel with next to no work and returns the seconds it took. Throws the device's own error when it fails.
  virtual double launch() = 0;
  // Copies `bytes` (1 to max_bytes()) from the host to the device and returns the seconds it took. Throws the
  // device's own error when it fails.
  virtual double copy_to_device(std::uint64_t bytes) = 0;
  // Copies `bytes` (1 to max_bytes()) from the device to the host and returns the seconds it took. Throws the
  // device's own error when it fails.
  virtual double copy_to_host(std::uint64_t bytes) = 0;
  // Copies `bytes` (1 to max_bytes()) within device memory and returns the seconds that reading and writing them
  // took. Throws the device's own error when it fails.
  virtual double copy_on_device(std::uint64_t bytes) = 0;
  // Returns whether the device has instructions for a precision; without them it computes at about the fp32 rate.
  [[nodiscard]] virtual bool has(Precision precision) const = 0;
  // Multiplies two square matrices of `side` rows, at least 1, and returns the seconds it took. Returns nothing when
  // the device cannot multiply in that precision, and throws the device's own error when it fails otherwise.
  virtual std::optional<double> multiply(Precision precision, std::uint64_t side) = 0;
  // Returns a lower bound of the machine balance, the arithmetic rate over the memory bandwidth in operations per
  // byte, on an idle machine; 0 when unknown.
  [[nodiscard]] virtual double min_balance() const = 0;
  // Returns the estimated seconds to compile a kernel; 0 where nothing is compiled. `warm_up_seconds` is how much
  // longer the slowest first run took than the next one. Call it after the other measurements.
  [[nodiscard]] virtual double compile_seconds(double warm_up_seconds) const = 0;
  // Returns the largest number of bytes that the copy functions accept.
  [[nodiscard]] virtual std::uint64_t max_bytes() const = 0;
  // Returns the resolution of the clock in seconds.
  [[nodiscard]] virtual double resolution() const = 0;
  // Returns the seconds since the probe was constructed.
  [[nodiscard]] virtual double elapsed() const = 0;
};

// Measures a profile named `device`. When `max_seconds` since the probe's construction are nearly over, skips
// precisions other than fp32 and returns a profile with `complete` false. Throws what the probe throws, the device's
// own errors.
DeviceProfile calibrate_with(Probe& probe, std::string device, double max_seconds);

}  // namespace vectis::inline v0_1::detail
