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

// A marker in a stream (Stream::record), which completes when the work enqueued before it has finished. An event that
// was never recorded counts as completed. Calls throw the error of that work when it failed. A handle; copies share
// the event. Thread-safe.
class VECTIS_API Event {
 public:
  // Creates an event that was not recorded yet. Throws DeviceLost when the context is lost, Forked in a child
  // process, else the driver's error.
  explicit Event(const DeviceContext& context);
  // Makes a handle of an existing event; for the device layer itself. `core` must not be null. Does not throw.
  explicit Event(std::shared_ptr<detail::EventCore> core) noexcept : core_(std::move(core)) {}

  // Returns true when the work before the event has finished or the event was never recorded; never waits. Throws the
  // error of that work when it failed, which also becomes the error of its stream; DeviceLost when the context is
  // lost.
  [[nodiscard]] bool completed() const;
  // Waits until the work before the event has finished; returns at once when the event was never recorded. Throws the
  // error of that work when it failed, which also becomes the error of its stream; DeviceLost when the context is
  // lost.
  void synchronize() const;
  // Returns the time of completion on the device's own clock: subtract two of one device for the time between them.
  // Empty when the device has no timestamps, or the event has not completed or was never recorded. Throws the error
  // of the work before the event when it failed, DeviceLost when the context is lost.
  [[nodiscard]] std::optional<Duration> timestamp() const;

  // Returns the shared state behind the handle; for the layers of Vectis itself. Does not throw.
  [[nodiscard]] const std::shared_ptr<detail::EventCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::EventCore> core_;
};

// One argument of Stream::launch: device memory, a scalar of at most 8 bytes, or bytes of shared memory. The launch
// throws InvalidInput for memory of another context or too much shared memory.
class VECTIS_API LaunchArgument {
 public:
  // Passes `memory` to the kernel and keeps it alive as long as this argument. The memory must be of the stream's
  // context, else the launch throws InvalidInput.
  LaunchArgument(const DeviceMemory& memory);  // NOLINT(google-explicit-constructor): argument lists read as calls
  // Passes a copy of `value` to the kernel. T must be an arithmetic type of at most 8 bytes and match the type of the
  // kernel's parameter, which only the driver may check. Does not throw.
  template <class T>
    requires std::is_arithmetic_v<T>
  LaunchArgument(T value) noexcept  // NOLINT(google-explicit-constructor)
      : bytes_(sizeof(T)), is_value_(true) {
    static_assert(sizeof(T) <= sizeof(value_));
    std::memcpy(value_.data(), &value, sizeof(T));
  }
  // Passes an array of `bytes` bytes in the shared (local) memory of each work-group. The shared arguments of one
  // launch must not exceed DeviceLimits::shared_bytes_max, else the launch throws InvalidInput. Does not throw.
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

// How many work-items a launch runs: grid × block. Every dimension must be at least 1 and `block` must fit the
// device's DeviceLimits, else Stream::launch throws InvalidInput.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // work-groups (thread blocks) per dimension
  std::array<std::uint32_t, 3> block{1, 1, 1};  // work-items (threads) of one work-group per dimension
};

// An in-order queue of device work that runs asynchronously to the host. Invalid arguments throw InvalidInput before
// anything is enqueued. Enqueued work that fails makes the next synchronize() or event throw, and then every call on
// this stream; other streams continue. Host memory passed to a copy must stay valid until synchronize(). One thread
// at a time.
class VECTIS_API Stream {
 public:
  // Creates an empty stream in `context`. Throws DeviceLost when the context is lost, Forked in a child process, else
  // the driver's error.
  explicit Stream(const DeviceContext& context);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Waits for the enqueued work. Errors of that work are not reported: call synchronize() first.
  ~Stream();

  // Returns the context in which the stream was created. The stream must not have been moved from.
  [[nodiscard]] DeviceContext context() const;

  // Enqueues a copy of `source` to the bytes of `target` from `offset` on. `source` must stay valid until the stream
  // has been synchronized. Throws InvalidInput when the range exceeds `target` or `target` is of another context; the
  // error of earlier work on this stream when it failed; DeviceLost when the device is gone.
  void copy_to_device(const DeviceMemory& target, std::uint64_t offset, std::span<const std::byte> source);
  // Enqueues a copy of target.size() bytes of `source` from `offset` on to `target`, which must stay valid, and must
  // not be read, until the stream has been synchronized. Throws InvalidInput when the range exceeds `source` or
  // `source` is of another context; the error of earlier work on this stream when it failed; DeviceLost when the
  // device is gone.
  void copy_to_host(std::span<std::byte> target, const DeviceMemory& source, std::uint64_t offset);
  // Enqueues a copy of `bytes` bytes between two memories, or two ranges of one memory, of the stream's context.
  // Throws InvalidInput when a range exceeds its memory, the ranges overlap in one memory, or a memory is of another
  // context; the error of earlier work on this stream when it failed; DeviceLost when the device is gone.
  void copy_on_device(const DeviceMemory& target, std::uint64_t target_offset, const DeviceMemory& source,
                      std::uint64_t source_offset, std::uint64_t bytes);
  // Sets the `bytes` bytes of `target` from `offset` on to `value`; waits for the stream when the backend has no
  // fill. Throws InvalidInput when the range exceeds `target` or `target` is of another context; the error of earlier
  // work on this stream when it failed; DeviceLost when the device is gone.
  void fill(const DeviceMemory& target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value);
  // Enqueues `kernel` with a braced list of arguments, whose number and types only the backend and its driver check:
  // what they reject throws an Error, mostly InvalidInput; what they do not notice is undefined behavior. Throws
  // InvalidInput when a dimension of `shape` is 0, `shape` or the shared memory exceeds DeviceLimits, or the kernel
  // or an argument is of another context; the error of earlier work on this stream when it failed; DeviceLost when
  // the device is gone.
  void launch(const EntryPoint& kernel, const LaunchShape& shape, std::initializer_list<LaunchArgument> arguments);
  // Enqueues `kernel` with a span of arguments, whose number and types only the backend and its driver check: what they
  // reject throws an Error, mostly InvalidInput; what they do not notice is undefined behavior. Throws InvalidInput
  // when a dimension of `shape` is 0, `shape` or the shared memory exceeds DeviceLimits, or the kernel or an argument
  // is of another context; the error of earlier work on this stream when it failed; DeviceLost when the device is
  // gone.
  void launch(const EntryPoint& kernel, const LaunchShape& shape, std::span<const LaunchArgument> arguments);

  // Records `event` behind all work enqueued so far; a later record of the same event replaces this one. Throws
  // InvalidInput when the event is of another context; the error of earlier work on this stream when it failed;
  // DeviceLost when the device is gone.
  void record(const Event& event);
  // Makes work enqueued later on this stream start after `event`, which may be recorded on another stream of the same
  // context; the host does not wait. Throws InvalidInput when the event is of another context; the error of earlier
  // work on this stream when it failed; DeviceLost when the device is gone.
  void wait(const Event& event);
  // Waits until all enqueued work has finished. Throws the error of the first work that failed, as every later call
  // on this stream then does; DeviceLost when the device is gone.
  void synchronize();

  // Returns the state behind the stream, for the layers of Vectis itself; null after a move. Does not throw.
  [[nodiscard]] const detail::StreamCore* core() const noexcept { return core_.get(); }

 private:
  std::unique_ptr<detail::StreamCore> core_;
};

}  // namespace vectis::inline v0_1
