// The outcome of a stream's commands. OpenCL reports how a command ended through its event alone, so the events of all
// commands in flight are kept until their status was read.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "api.hpp"

namespace vectis::opencl {

// Keeps the events of a stream's commands until their outcome is known, and remembers the first failure. Thread-safe.
class CommandTracker {
 public:
  // Creates a tracker without commands. `api` must outlive it. May throw std::bad_alloc.
  explicit CommandTracker(const Api& api);

  // Makes room for one command; call before each add(). Drops finished commands when the capacity is reached, so that
  // at most twice the commands in flight are kept. Throws Failure when clGetEventInfo fails, std::bad_alloc when
  // memory is exhausted.
  void reserve();

  // Adds a command, which `event` represents, behind all others. Does not throw. Preconditions: reserve() was called
  // for it, and `call`, the OpenCL function that enqueued the command, is a literal.
  void add(Owned<cl_event> event, const char* call) noexcept;

  // Returns how many commands were ever added, which is the index of the last one, counted from 1. Does not throw.
  [[nodiscard]] std::uint64_t added() const;

  // Waits for the last command in flight, and so for all before it; returns at once without one. For a queue on which
  // clFinish fails. A failure of the wait is ignored.
  void wait() noexcept;

  // Throws the first failure among the first `count` commands, as Failure with the status of its code, at this and
  // every later call; does nothing when those that have ended succeeded. Does not wait. Also throws Failure when
  // clGetEventInfo fails.
  void check(std::uint64_t count);

 private:
  struct Command {
    std::uint64_t index;
    Owned<cl_event> event;
    const char* call;
  };
  struct FailedCommand {
    std::uint64_t index;
    const char* call;
    cl_int code;
  };

  // Drops the commands up to the first that has not ended, and stores the first failure. Precondition: mutex_ is
  // held. Throws Failure, with nothing changed, when clGetEventInfo fails.
  void drop_finished();

  const Api& api_;
  mutable std::mutex mutex_;
  std::vector<Command> commands_;  // in the order of the stream
  std::size_t capacity_;
  std::uint64_t added_ = 0;
  std::optional<FailedCommand> failure_;
};

}  // namespace vectis::opencl
