// The measurements behind a profile, whatever is measured.
#pragma once

#include <cstdint>
#include <optional>

#include "vectis/base/dtype.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1::detail {

// Something that does elementary work and says how long it took, in seconds, waiting included. The first call of a kind
// may have to compile, allocate or wake up.
class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  virtual double launch() = 0;  // the smallest kernel
  virtual double copy_to_device(std::uint64_t bytes) = 0;
  virtual double copy_to_host(std::uint64_t bytes) = 0;
  virtual double copy_on_device(std::uint64_t bytes) = 0;  // reads and writes so many
  // Whether it has instructions of its own for a precision; without, it computes about as in fp32.
  [[nodiscard]] virtual bool has(Precision precision) const = 0;
  // The product of two square matrices; empty when the device does none in that precision.
  virtual std::optional<double> multiply(Precision precision, std::uint64_t side) = 0;
  // Operations to a byte of memory that such a device reaches when nothing disturbs it; zero when nobody knows.
  [[nodiscard]] virtual double least_balance() const = 0;
  // What compiling a kernel takes, when the slowest first run so far took so much longer than the next; zero where
  // nothing is compiled.
  [[nodiscard]] virtual double compile_seconds(double first_run) const = 0;
  // The largest size copies may have.
  [[nodiscard]] virtual std::uint64_t bytes_max() const = 0;
  // The smallest time its clock tells from none.
  [[nodiscard]] virtual double resolution() const = 0;
  // Since the probe was made, seconds.
  [[nodiscard]] virtual double elapsed() const = 0;
};

// `device` becomes the profile's name. Stops measuring what is not essential when `seconds_max` are near.
DeviceProfile calibrate_with(Probe& probe, std::string device, double seconds_max);

}  // namespace vectis::inline v0_1::detail
