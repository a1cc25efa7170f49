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

// Thread-safe.
class CommandTracker {
 public:
  explicit CommandTracker(const Api& api);

  // Call before each `add`, which then cannot fail. Drops finished commands when the capacity is reached, so that at
  // most twice the commands in flight are kept. Throws Failure when the driver does not report a command's status.
  void reserve();

  // `call` names the OpenCL function that enqueued the command, for messages; it must be a literal.
  void add(Owned<cl_event> event, const char* call) noexcept;

  // How many commands were added: the index of the last one, counted from 1.
  [[nodiscard]] std::uint64_t added() const;

  // Waits for the last command, and so for all before it. For a queue that cannot be finished any more.
  void wait() noexcept;

  // Throws the first failure among the first `count` commands that have ended, at every call from then on.
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

  void drop_finished();

  const Api& api_;
  mutable std::mutex mutex_;
  std::vector<Command> commands_;  // in the order of the stream
  std::size_t capacity_;
  std::uint64_t added_ = 0;
  std::optional<FailedCommand> failure_;
};

}  // namespace vectis::opencl
