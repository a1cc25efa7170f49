// What became of the commands of one stream. OpenCL tells the end of a command only through its event, so the events
// of all commands under way are kept until they have been looked at. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "api.hpp"
#include "owned.hpp"

namespace vectis::opencl {

class Progress {
 public:
  explicit Progress(const Api& api);

  // To be called before each `add`, which then cannot fail. Forgets finished commands when many have gathered, so that
  // no more than twice those under way are kept.
  void make_room();
  // `call` is the name of the function that enqueued the command.
  void add(Owned<cl_event> event, const char* call) noexcept;
  // How many commands have been added: the place of the last one in the stream's order.
  [[nodiscard]] std::uint64_t added() const;

  // Waits for the last command and so for all. For when the stream itself can no longer be waited for.
  void wait() noexcept;

  // Throws the first failure among the first `count` commands that have ended. Once told, it is told every time.
  void check(std::uint64_t count);

 private:
  struct Command {
    std::uint64_t place;
    Owned<cl_event> event;
    const char* call;
  };
  struct Ended {
    std::uint64_t place;
    const char* call;
    cl_int code;
  };

  void forget_finished();

  const Api& api_;
  mutable std::mutex mutex_;
  std::vector<Command> commands_;  // in the order of the stream
  std::size_t kept_max_;
  std::uint64_t added_ = 0;
  std::optional<Ended> failure_;
};

}  // namespace vectis::opencl
