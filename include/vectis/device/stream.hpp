// Streams (in-order queues of device work), events, and kernel launches.
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
struct LoweredArgument;
struct StreamCore;
}  // namespace detail

// A marker in a stream: it completes when the work enqueued before it has finished. An event that was never recorded
// counts as completed. Thread-safe.
class VECTIS_API Event {
 public:
  // An event that was not recorded yet. Throws DeviceLost when the context is lost, else the driver's error.
  explicit Event(const DeviceContext& context);
  explicit Event(std::shared_ptr<detail::EventCore> core) noexcept : core_(std::move(core)) {}

  // True when the work before the event has finished. Throws the error of that work when it failed.
  [[nodiscard]] bool completed() const;
  // Waits until the event completes. Throws the error of the work before it when it failed.
  void synchronize() const;
  // The device's time at completion, on the device's own clock: the difference of two events is the time between them.
  // Empty when the device has no timestamps, or the event has not completed or was never recorded.
  [[nodiscard]] std::optional<Duration> timestamp() const;

  [[nodiscard]] const std::shared_ptr<detail::EventCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::EventCore> core_;
};

// One argument of a kernel launch: device memory, a scalar, or bytes of shared memory.
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
  // An array of `bytes` bytes in the shared (local) memory of each work-group.
  static LaunchArgument shared(std::size_t bytes) noexcept;

 private:
  friend class Stream;
  friend struct detail::LoweredArgument;
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

// An in-order queue of device work that runs asynchronously to the host. Arguments are checked before anything is
// enqueued: a range that exceeds its memory, or a memory of another context, throws InvalidInput and leaves the stream
// usable. Work that fails after it was enqueued makes the next synchronize() or event throw; from then on every call on
// this stream throws the same error, while other streams continue. Calls throw DeviceLost when the device is gone. Host
// memory passed to a copy must stay valid until the stream has been synchronized. One thread at a time.
class VECTIS_API Stream {
 public:
  // An empty stream. Throws DeviceLost when the context is lost, else the driver's error.
  explicit Stream(const DeviceContext& context);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Waits for the enqueued work.
  ~Stream();

  // The context in which the stream was created.
  [[nodiscard]] DeviceContext context() const;

  // Enqueues a copy of `source` to the bytes of `target` from `offset` on.
  void copy_to_device(const DeviceMemory& target, std::uint64_t offset, std::span<const std::byte> source);
  // Enqueues a copy of the bytes of `source` from `offset` on to `target`; synchronize before reading `target`.
  void copy_to_host(std::span<std::byte> target, const DeviceMemory& source, std::uint64_t offset);
  // Copies within one context. Throws InvalidInput also when the ranges overlap.
  void copy_on_device(const DeviceMemory& target, std::uint64_t target_offset, const DeviceMemory& source,
                      std::uint64_t source_offset, std::uint64_t bytes);
  // Sets `bytes` bytes of `target` from `offset` on to `value`.
  void fill(const DeviceMemory& target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value);
  // Enqueues a kernel. Throws InvalidInput when the shape or the shared memory exceeds DeviceLimits, or when the kernel
  // or an argument belongs to another context. Number and types of the arguments are the driver's to check.
  void launch(const EntryPoint& kernel, const LaunchShape& shape, std::initializer_list<LaunchArgument> arguments);
  void launch(const EntryPoint& kernel, const LaunchShape& shape, std::span<const LaunchArgument> arguments);

  // Records `event` behind all work enqueued so far; a later record moves it.
  void record(const Event& event);
  // Work enqueued later starts after `event`, which may be recorded on another stream of the same context.
  void wait(const Event& event);
  // Waits until all enqueued work has finished. Throws the error of the first work that failed.
  void synchronize();

  [[nodiscard]] const detail::StreamCore* core() const noexcept { return core_.get(); }

 private:
  std::unique_ptr<detail::StreamCore> core_;
};

}  // namespace vectis::inline v0_1
