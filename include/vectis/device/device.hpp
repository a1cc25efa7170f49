// A device: what it is, what it can do, and how full and busy it is now.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

class Runtime;

namespace detail {
struct DeviceCore;
}

enum class DeviceKind : std::uint8_t { cpu, gpu, accelerator };

VECTIS_API std::string_view name(DeviceKind kind) noexcept;

// What kernels may use. The backend contract's VECTIS_CAN_* bits under their C++ names.
struct VECTIS_API Capabilities {
  bool fp16 = false;
  bool bf16 = false;
  bool fp64 = false;
  bool int8_dot = false;
  bool matrix = false;
  bool subgroups = false;
  bool unified_memory = false;
  bool timestamps = false;

  // The names of those that are true, in the order above.
  [[nodiscard]] std::vector<std::string_view> names() const;
  bool operator==(const Capabilities&) const = default;
};

struct DeviceLimits {
  std::uint64_t allocation_bytes_max = 0;
  std::uint64_t memory_alignment = 1;
  std::uint64_t shared_bytes_max = 0;
  std::uint32_t group_items_max = 1;
  std::array<std::uint32_t, 3> group_size_max{1, 1, 1};
  std::uint64_t binding_bytes_max = UINT64_MAX;  // what a kernel can be given of one memory
};

struct DeviceInfo {
  std::string name;
  std::string vendor;
  std::string driver;
  std::string physical_id;  // equal for devices that share one physical memory
  std::vector<std::string> dialects;
  DeviceKind kind = DeviceKind::cpu;
  bool software = false;      // computed by a CPU through a GPU interface
  std::optional<int> parent;  // the id of the device this one is a part of
  std::uint32_t compute_units = 0;
  std::uint64_t memory_bytes = 0;
  DeviceLimits limits;
  Capabilities capabilities;
};

struct DeviceMemoryState {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// A handle, cheap to copy and compare. Immutable, thread-safe.
class VECTIS_API Device {
 public:
  explicit Device(std::shared_ptr<const detail::DeviceCore> core) noexcept : core_(std::move(core)) {}

  // Its place among all devices of the Runtime, the number users pass around.
  [[nodiscard]] int id() const noexcept;
  // "opencl:0": its backend and its place there.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::string_view backend() const noexcept;
  [[nodiscard]] const DeviceInfo& info() const noexcept;
  // A real GPU or accelerator, not a software driver.
  [[nodiscard]] bool is_gpu() const noexcept;

  // Asked of the driver afresh; empty when the backend cannot tell.
  [[nodiscard]] std::optional<DeviceMemoryState> memory() const;
  // The share of the last moments it was busy, 0 to 1; empty when the backend cannot tell.
  [[nodiscard]] std::optional<double> utilization() const;

  bool operator==(const Device& other) const noexcept { return core_ == other.core_; }

  [[nodiscard]] const std::shared_ptr<const detail::DeviceCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<const detail::DeviceCore> core_;
};

}  // namespace vectis::inline v0_1
