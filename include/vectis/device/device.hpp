// A device: description, capabilities, limits, free memory and utilization.
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

// What computes. A software driver may report any kind; see DeviceInfo::software.
enum class DeviceKind : std::uint8_t { cpu, gpu, accelerator };

// "gpu"; "unknown" for a value that is not in the enum.
VECTIS_API std::string_view name(DeviceKind kind) noexcept;

// Features that kernels may use on a device: the VECTIS_CAN_* bits of the backend ABI.
struct VECTIS_API Capabilities {
  bool fp16 = false;            // half-precision arithmetic, not only storage
  bool bf16 = false;            // bfloat16 dot products
  bool fp64 = false;            // double-precision arithmetic
  bool int8_dot = false;        // dot product of four int8 pairs in one instruction
  bool matrix = false;          // matrix units: tensor cores, AMX, MFMA
  bool subgroups = false;       // sub-groups (warps, waves)
  bool unified_memory = false;  // device memory is host memory
  bool timestamps = false;      // events carry the device's time

  // The names of the fields that are true, in declaration order.
  [[nodiscard]] std::vector<std::string_view> names() const;
  bool operator==(const Capabilities&) const = default;
};

// Limits of a device. Calls that exceed them throw InvalidInput.
struct DeviceLimits {
  std::uint64_t allocation_bytes_max = 0;                // of one allocation
  std::uint64_t memory_alignment = 1;                    // of allocations and slices, in bytes
  std::uint64_t shared_bytes_max = 0;                    // shared (local) memory of one work-group
  std::uint32_t group_items_max = 1;                     // work-items of one work-group
  std::array<std::uint32_t, 3> group_size_max{1, 1, 1};  // work-items of one work-group per dimension
  std::uint64_t binding_bytes_max = UINT64_MAX;          // bytes of one memory that a kernel can access
};

// The description of a device; constant while the Runtime lives.
struct DeviceInfo {
  std::string name;
  std::string vendor;
  std::string driver;
  std::string physical_id;            // equal for devices that share one physical memory
  std::vector<std::string> dialects;  // kernel languages that the device compiles at run time; empty: none
  DeviceKind kind = DeviceKind::cpu;
  bool software = false;      // a software driver: a GPU interface that computes on the CPU (PoCL, llvmpipe)
  std::optional<int> parent;  // the id of the device that this one is a sub-device of
  std::uint32_t compute_units = 0;
  std::uint64_t memory_bytes = 0;
  DeviceLimits limits;
  Capabilities capabilities;
};

// Memory of a device at the time of the query. `free_bytes` counts allocations of all processes.
struct DeviceMemoryState {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// A handle, cheap to copy and compare. Valid as long as its Runtime. Immutable, thread-safe.
class VECTIS_API Device {
 public:
  explicit Device(std::shared_ptr<const detail::DeviceCore> core) noexcept : core_(std::move(core)) {}

  // The position among all devices of the Runtime, from 0.
  [[nodiscard]] int id() const noexcept;
  // Backend and index in it: "opencl:0".
  [[nodiscard]] std::string label() const;
  // The name of its backend: "opencl".
  [[nodiscard]] std::string_view backend() const noexcept;
  [[nodiscard]] const DeviceInfo& info() const noexcept;
  // True for a real GPU or accelerator, false for the CPU and for software drivers.
  [[nodiscard]] bool is_gpu() const noexcept;

  // Total and free memory now, as the driver reports them; empty when the backend cannot. Throws DriverFailure when the
  // driver fails, Forked in a child process.
  [[nodiscard]] std::optional<DeviceMemoryState> memory() const;
  // The fraction of recent time in which the device was busy, 0 to 1; empty when the backend cannot measure it. Throws
  // as memory().
  [[nodiscard]] std::optional<double> utilization() const;

  bool operator==(const Device& other) const noexcept { return core_ == other.core_; }

  [[nodiscard]] const std::shared_ptr<const detail::DeviceCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<const detail::DeviceCore> core_;
};

}  // namespace vectis::inline v0_1
