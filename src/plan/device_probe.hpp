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

// Owns a context, a stream and memory. One thread at a time.
class DeviceProbe final : public Probe {
 public:
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
  // A zeroed buffer of at least `bytes`; `which` selects one of several.
  const DeviceMemory& memory(std::size_t which, std::uint64_t bytes);
  std::vector<std::byte>& host(std::uint64_t bytes);
  double timed(const std::function<void()>& work);

  std::uint64_t begin_;
  DeviceContext context_;
  Stream stream_;
  std::uint64_t compiled_before_;
  std::map<std::size_t, DeviceMemory> memories_;
  std::vector<std::byte> host_;
};

}  // namespace vectis::inline v0_1::detail
