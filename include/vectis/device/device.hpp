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

// The kind of hardware that a device reports. A software driver may report any kind although it computes on the CPU:
// DeviceInfo::software says so.
enum class DeviceKind : std::uint8_t { cpu, gpu, accelerator };

// Returns the name of a device kind, such as "gpu"; "unknown" for a value that is not in the enum. Does not throw.
VECTIS_API std::string_view name(DeviceKind kind) noexcept;

// The features that kernels may use on a device: the VECTIS_CAN_* bits of the backend ABI.
struct VECTIS_API Capabilities {
  bool fp16 = false;            // half-precision arithmetic, not only storage
  bool bf16 = false;            // bfloat16 dot products
  bool fp64 = false;            // double-precision arithmetic
  bool int8_dot = false;        // dot product of four int8 pairs in one instruction
  bool matrix = false;          // matrix units: tensor cores, AMX, MFMA
  bool int8_matrix = false;     // matrix units that multiply int8
  bool subgroups = false;       // sub-groups (warps, waves)
  bool unified_memory = false;  // device memory is host memory
  bool timestamps = false;      // events carry the device's time

  // Returns the names of the capabilities that are true, such as "fp16", in the order of the fields; empty when none
  // is.
  [[nodiscard]] std::vector<std::string_view> names() const;
  bool operator==(const Capabilities&) const = default;
};

// The limits of a device, as its driver reports them. Allocations, slices and launches that exceed them throw
// InvalidInput.
struct DeviceLimits {
  std::uint64_t allocation_bytes_max = 0;                // of one allocation
  std::uint64_t memory_alignment = 1;                    // of allocations and slices, in bytes
  std::uint64_t shared_bytes_max = 0;                    // shared (local) memory of one work-group
  std::uint32_t group_items_max = 1;                     // work-items of one work-group
  std::array<std::uint32_t, 3> group_size_max{1, 1, 1};  // work-items of one work-group per dimension
  std::uint64_t binding_bytes_max = UINT64_MAX;          // bytes of one memory that a kernel can access
};

// The description of a device, as Device::info() returns it; constant while the Runtime lives.
struct DeviceInfo {
  std::string name;
  std::string vendor;
  std::string driver;
  std::string physical_id;            // equal for devices that share one physical memory, of any backend; lower case
  std::vector<std::string> dialects;  // kernel languages that the device compiles at run time; empty: none
  DeviceKind kind = DeviceKind::cpu;
  bool software = false;      // a software driver: a GPU interface that computes on the CPU (PoCL, llvmpipe)
  std::optional<int> parent;  // the id of the device that this one is a sub-device of
  std::uint32_t compute_units = 0;
  std::uint64_t memory_bytes = 0;  // 0: unknown
  DeviceLimits limits;
  Capabilities capabilities;
};

// Total and free memory of a device at the time of the call of Device::memory(). `free_bytes` takes the allocations
// of all processes into account and is at most `total_bytes`.
struct DeviceMemoryState {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};

// A handle of one device of a Runtime (DeviceRegistry, choose_device), cheap to copy and compare. Must not be used
// after its Runtime is destroyed. Immutable, thread-safe.
class VECTIS_API Device {
 public:
  // Makes a handle of an existing device; for the device layer itself. `core` must not be null. Does not throw.
  explicit Device(std::shared_ptr<const detail::DeviceCore> core) noexcept : core_(std::move(core)) {}

  // Returns the position of the device among all devices of the Runtime, from 0. Does not throw.
  [[nodiscard]] int id() const noexcept;
  // Returns the name of the backend and the index of the device in it, such as "opencl:0".
  [[nodiscard]] std::string label() const;
  // Returns the name of the device's backend, such as "opencl"; valid as long as the Runtime. Does not throw.
  [[nodiscard]] std::string_view backend() const noexcept;
  // Returns the description of the device, valid as long as a handle of the device. Does not throw.
  [[nodiscard]] const DeviceInfo& info() const noexcept;
  // Returns true for a real GPU or accelerator; false for the CPU and for software drivers. Does not throw.
  [[nodiscard]] bool is_gpu() const noexcept;

  // Queries the driver for total and free memory; an empty optional when the backend cannot report them. Throws the
  // driver's error, such as DriverFailure or DeviceLost, when the query fails, Forked in a child process.
  [[nodiscard]] std::optional<DeviceMemoryState> memory() const;
  // Queries the driver for the fraction of recent time in which the device was busy, 0 to 1; an empty optional when
  // the backend cannot measure it. Throws the driver's error, such as DriverFailure, when the query fails, Forked in
  // a child process.
  [[nodiscard]] std::optional<double> utilization() const;

  // Returns true when both handles are of the same device of the same Runtime. Does not throw.
  bool operator==(const Device& other) const noexcept { return core_ == other.core_; }

  // Returns the shared state behind the handle; for the layers of Vectis itself. Does not throw.
  [[nodiscard]] const std::shared_ptr<const detail::DeviceCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<const detail::DeviceCore> core_;
};

}  // namespace vectis::inline v0_1
