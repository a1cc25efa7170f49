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

extern char** environ;

namespace vectis::inline v0_1 {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t output_bytes_max = std::size_t{1} << 20;  // as Os::run documents

// A pipe that a child writes to, and the text read from it so far.
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

  // Reads all available output without blocking. Output beyond output_bytes_max is discarded so that the child never
  // blocks on a full pipe. Closes the read end at end-of-file.
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

// File actions and attributes of posix_spawn, freed by the destructor.
struct SpawnOptions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnOptions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnOptions() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
};

// Starts the program with its output in the pipes, /dev/null as input, default signals and its own process group, so
// that a kill reaches its children too. Returns 0 or the errno.
int start(const std::vector<std::string>& command, const Pipe& output, const Pipe& error, pid_t& child) {
  SpawnOptions options;
  posix_spawn_file_actions_addopen(&options.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&options.actions, output.write_end.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&options.actions, error.write_end.number(), STDERR_FILENO);

  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&options.attributes, &none);
  posix_spawnattr_setsigdefault(&options.attributes, &all);
  posix_spawnattr_setpgroup(&options.attributes, 0);
  posix_spawnattr_setflags(&options.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return posix_spawnp(&child, arguments[0], &options.actions, &options.attributes, arguments.data(), environ);
}

// The child's wait status once it has ended; empty while it runs. Where the calling program ignores SIGCHLD the status
// is lost, and the child counts as ended with status 0.
std::optional<int> reap(pid_t child, bool block) {
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, block ? 0 : WNOHANG);
    if (ended == child) return status;
    if (ended == 0) return std::nullopt;
    if (errno != EINTR) return 0;
  }
}

// Waits for output or for the end of both pipes, at most `moment_ms`. Both wake poll() at once, so the limit only
// bounds how late the exit of a child that closed its output is noticed.
void wait_for_output(Pipe& output, Pipe& error) {
  constexpr int moment_ms = 5;
  std::array<pollfd, 2> watched{pollfd{output.read_end.number(), POLLIN, 0},
                                pollfd{error.read_end.number(), POLLIN, 0}};
  if (output.read_end.is_open() || error.read_end.is_open()) {
    poll(watched.data(), watched.size(), moment_ms);  // poll ignores negative descriptors
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  output.drain();
  error.drain();
}

}  // namespace

int write_all(const Descriptor& file, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = write(file.number(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

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
