#include "base/os/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "base/os/descriptor.hpp"

extern char** environ;

namespace vectis::inline v0_1 {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t output_bytes_max = std::size_t{1} << 20;

// Our end of a pipe that a child writes to, and what came through it.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
  std::string text;

  [[nodiscard]] bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }

  // Reads what is there; what goes beyond the limit is dropped so that the child never blocks. Closes at the end.
  void drain() {
    std::array<char, 16384> block;
    while (read_end.is_open()) {
      const ssize_t got = read(read_end.number(), block.data(), block.size());
      if (got > 0) {
        text.append(block.data(), std::min(static_cast<std::size_t>(got), output_bytes_max - text.size()));
      } else if (got < 0 && errno == EINTR) {
        continue;
      } else if (got < 0 && errno == EAGAIN) {
        return;
      } else {
        read_end.close();
      }
    }
  }
};

// Frees what posix_spawn was told.
struct SpawnOrders {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnOrders() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnOrders() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnOrders(const SpawnOrders&) = delete;
  SpawnOrders& operator=(const SpawnOrders&) = delete;
};

// Starts the program with its output in the pipes, nothing to read, default signals, and a process group of its own so
// that a kill reaches what it started. Returns 0 or the errno.
int start(const std::vector<std::string>& command, const Pipe& output, const Pipe& error, pid_t& child) {
  SpawnOrders orders;
  posix_spawn_file_actions_addopen(&orders.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&orders.actions, output.write_end.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&orders.actions, error.write_end.number(), STDERR_FILENO);

  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&orders.attributes, &none);
  posix_spawnattr_setsigdefault(&orders.attributes, &all);
  posix_spawnattr_setpgroup(&orders.attributes, 0);
  posix_spawnattr_setflags(&orders.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return posix_spawnp(&child, arguments[0], &orders.actions, &orders.attributes, arguments.data(), environ);
}

// The child's wait status once it has ended. A program that ignores SIGCHLD never learns it: then the child counts as
// ended with status 0.
std::optional<int> reap(pid_t child, bool block) {
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, block ? 0 : WNOHANG);
    if (ended == child) return status;
    if (ended == 0) return std::nullopt;
    if (errno != EINTR) return 0;
  }
}

// Waits a moment for output or the end of both pipes; both come at once, so the moment only bounds how late the end of
// a child that closed its output is noticed.
void wait_for_output(Pipe& output, Pipe& error) {
  constexpr int moment_ms = 5;
  std::array<pollfd, 2> watched{pollfd{output.read_end.number(), POLLIN, 0},
                                pollfd{error.read_end.number(), POLLIN, 0}};
  if (output.read_end.is_open() || error.read_end.is_open()) {
    poll(watched.data(), watched.size(), moment_ms);  // a negative number is not watched
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  output.drain();
  error.drain();
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, Duration limit) {
  using End = ProcessResult::End;
  if (command.empty()) return {End::not_started, EINVAL, {}, {}};
  const auto began = steady_clock::now();
  Pipe output;
  Pipe error;
  if (!output.open() || !error.open()) return {End::not_started, errno, {}, {}};
  pid_t child = -1;
  if (const int failure = start(command, output, error, child); failure != 0)
    return {End::not_started, failure, {}, {}};
  output.write_end.close();
  error.write_end.close();

  bool timed_out = false;
  std::optional<int> status;
  while (!(status = reap(child, false))) {
    if (steady_clock::now() - began >= limit) {
      timed_out = true;
      kill(-child, SIGKILL);
      status = reap(child, true);
      break;
    }
    wait_for_output(output, error);
  }
  output.drain();
  error.drain();

  ProcessResult result{End::exited, WEXITSTATUS(*status), std::move(output.text), std::move(error.text)};
  if (WIFSIGNALED(*status)) {
    result.end = timed_out ? End::timed_out : End::killed;
    result.code = WTERMSIG(*status);
  }
  return result;
}

}  // namespace vectis::inline v0_1
