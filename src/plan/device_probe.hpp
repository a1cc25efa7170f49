// Calibration of a real device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "plan/calibration.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// Measures a real device; owns a context, a stream and memory on it. Every measurement throws the device's own error
// when the device fails. One thread at a time.
class DeviceProbe final : public Probe {
 public:
  // Opens the device and starts the clock of elapsed(). Throws BackendCreation when the driver cannot create a
  // context, and DeviceLost when the device is gone.
  explicit DeviceProbe(const Device& device);

  double launch() override;
  double copy_to_device(std::uint64_t bytes) override;
  double copy_to_host(std::uint64_t bytes) override;
  double copy_on_device(std::uint64_t bytes) override;
  [[nodiscard]] bool has(Precision precision) const override;
  std::optional<double> multiply(Precision precision, std::uint64_t side) override;
  [[nodiscard]] double min_balance() const override;
  [[nodiscard]] double compile_seconds(double warm_up_seconds) const override;
  [[nodiscard]] std::uint64_t max_bytes() const override;
  [[nodiscard]] double resolution() const override;
  [[nodiscard]] double elapsed() const override;

 private:
  // Returns zeroed device memory of at least `bytes`; `which` selects one of several. The reference is valid until a
  // call with that `which` asks for more. Throws Allocation when the device is out of memory.
  const DeviceMemory& memory(std::size_t which, std::uint64_t bytes);
  // Returns a host buffer of at least `bytes`, valid until the next call.
  std::vector<std::byte>& host(std::uint64_t bytes);
  // Runs `work`, waits for the stream and returns the seconds that took. Throws what `work` or the stream throws.
  double timed(const std::function<void()>& work);

  std::uint64_t begin_;
  DeviceContext context_;
  Stream stream_;
  std::uint64_t compiled_before_;
  std::map<std::size_t, DeviceMemory> memories_;
  std::vector<std::byte> host_;
};

}  // namespace vectis::inline v0_1::detail
