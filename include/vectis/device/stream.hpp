// Orders of work on a device, and the places in them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/program.hpp"

namespace vectis::inline v0_1 {

namespace detail {
struct EventCore;
struct StreamCore;
}  // namespace detail

// A place in a stream's order. One never recorded counts as passed. Thread-safe.
class VECTIS_API Event {
 public:
  explicit Event(const DeviceContext& context);
  explicit Event(std::shared_ptr<detail::EventCore> core) noexcept : core_(std::move(core)) {}

  [[nodiscard]] bool completed() const;
  void synchronize() const;
  // When the device passed it, on the device's own clock; empty when it keeps none, has not passed it, or it was never
  // recorded.
  [[nodiscard]] std::optional<Duration> timestamp() const;

  [[nodiscard]] const std::shared_ptr<detail::EventCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::EventCore> core_;
};

// One argument of a launch: device memory, a plain value, or a number of bytes shared by a work-group.
class VECTIS_API LaunchArgument {
 public:
  LaunchArgument(const DeviceMemory& memory);  // NOLINT(google-explicit-constructor): argument lists read as calls
  template <class T>
    requires std::is_arithmetic_v<T>
  LaunchArgument(T value) noexcept  // NOLINT(google-explicit-constructor)
      : bytes_(sizeof(T)), is_value_(true) {
    static_assert(sizeof(T) <= sizeof(value_));
    std::memcpy(value_.data(), &value, sizeof(T));
  }
  static LaunchArgument shared(std::size_t bytes) noexcept;

 private:
  friend class Stream;
  LaunchArgument() = default;
  std::shared_ptr<detail::MemoryCore> memory_;
  std::array<std::byte, 8> value_{};
  std::size_t bytes_ = 0;
  bool is_value_ = false;
};

// How many work-items a launch runs: grid × block of them. `block` must fit the device's DeviceLimits.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // work-groups (thread blocks) per dimension
  std::array<std::uint32_t, 3> block{1, 1, 1};  // work-items (threads) of one work-group per dimension
};

// Work happens in the order it was given, beside the host. Host memory handed to a copy must stay valid until the
// stream has passed it. Ranges are checked here, before the device sees them: InvalidInput, and the stream goes on. A
// failure of work already under way is told by the next synchronize and sticks: every later call on the stream repeats
// it, while other streams go on. One thread at a time.
class VECTIS_API Stream {
 public:
  explicit Stream(const DeviceContext& context);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Waits for its work.
  ~Stream();

  [[nodiscard]] DeviceContext context() const;

  void copy_to_device(const DeviceMemory& target, std::uint64_t offset, std::span<const std::byte> source);
  void copy_to_host(std::span<std::byte> target, const DeviceMemory& source, std::uint64_t offset);
  // Within one context; the ranges must not overlap.
  void copy_on_device(const DeviceMemory& target, std::uint64_t target_offset, const DeviceMemory& source,
                      std::uint64_t source_offset, std::uint64_t bytes);
  void fill(const DeviceMemory& target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value);
  void launch(const EntryPoint& kernel, const LaunchShape& shape, std::initializer_list<LaunchArgument> arguments);
  void launch(const EntryPoint& kernel, const LaunchShape& shape, std::span<const LaunchArgument> arguments);

  void record(const Event& event);
  // Later work starts after `event`, which may be of another stream of the same context.
  void wait(const Event& event);
  void synchronize();

  [[nodiscard]] const detail::StreamCore* core() const noexcept { return core_.get(); }

 private:
  std::unique_ptr<detail::StreamCore> core_;
};

}  // namespace vectis::inline v0_1
