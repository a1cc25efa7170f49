// The interface to the operating system: implemented in src/base/os, replaced by a fake in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

// Result of Os::access: `granted` means the file may be opened for reading and writing, `denied` that it exists but
// may not, `absent` that it does not exist.
enum class FileAccess : std::uint8_t { granted, denied, absent };

// How a child process of Os::run ended, with its output. `not_started` means that the program could not be started.
struct ProcessResult {
  enum class End : std::uint8_t { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int code = 0;        // exit status, signal number, or errno of a failed start
  std::string output;  // what it wrote to standard output, at most 1 MiB
  std::string error;   // likewise for standard error
};

// Result of Os::open_library: the library's handle, or null and the reason in `error`.
struct OpenedLibrary {
  void* handle = nullptr;  // null: see `error`
  std::string error;       // the dynamic loader's message
};

// The calls to the operating system that Vectis makes; real_os() is the real one, and tests replace it. Failures are
// return values, except that replace_file throws. A path with a NUL byte names no file. Thread-safe.
class VECTIS_API Os {
 public:
  Os() = default;
  Os(const Os&) = delete;
  Os& operator=(const Os&) = delete;
  virtual ~Os() = default;

  // Returns the value of the environment variable `name`; an empty optional when it is not set, or when the process has
  // privileges that its caller lacks (set-user-ID, set-group-ID, file capabilities): settings name files that are
  // loaded as code. No thread may change the environment meanwhile without environment_mutex().
  [[nodiscard]] virtual std::optional<std::string> environment(const std::string& name) const = 0;
  // Returns the names of the environment variables that environment() returns, sorted. No thread may change the
  // environment meanwhile without environment_mutex().
  [[nodiscard]] virtual std::vector<std::string> environment_names() const = 0;
  // Returns the whole content of the file at `path`; an empty optional when the file does not exist or cannot be
  // read.
  [[nodiscard]] virtual std::optional<std::string> read_file(const std::string& path) const = 0;
  // Returns the whole content of the file at `path` if nobody but this user and root can have written it: a regular
  // file that one of them owns and that neither its group nor others may write. Else, for a symbolic link, and when the
  // file does not exist or cannot be read, returns an empty optional.
  [[nodiscard]] virtual std::optional<std::string> read_own_file(const std::string& path) const = 0;
  // Replaces the file's content atomically (temporary file and rename), creating missing folders, readable by this
  // user alone. Concurrent readers see the old or the new bytes; of concurrent writers, one wins. Throws Io, with
  // path and reason, when that fails, InvalidInput when `path` has a NUL byte; the old content then stays. Not
  // durable across a power failure.
  virtual void replace_file(const std::string& path, std::span<const std::byte> bytes) = 0;
  // Removes the file at `path`. Returns false when the file does not exist or cannot be removed.
  virtual bool remove_file(const std::string& path) = 0;
  // Returns the names, without the path, of the entries of the directory at `path`, sorted; empty when the directory
  // does not exist or cannot be listed.
  [[nodiscard]] virtual std::vector<std::string> list_directory(const std::string& path) const = 0;
  // Returns whether this process may open the file at `path` for reading and writing: denied when it exists but may
  // not be opened, absent when it does not exist.
  [[nodiscard]] virtual FileAccess access(const std::string& path) const = 0;
  // Returns whether `path` names a character device, such as the device node of a GPU; false for other files, and when
  // there is none.
  [[nodiscard]] virtual bool is_character_device(const std::string& path) const = 0;
  // Runs the program command[0], found through PATH, with the other strings as arguments; waits until it ends, and
  // kills it with its process group after `limit`. `command` must not be empty. Returns
  // ProcessResult::End::not_started, with the errno, when the program cannot be started.
  [[nodiscard]] virtual ProcessResult run(const std::vector<std::string>& command, Duration limit) const = 0;
  // Loads a shared library by path, or by a name that the dynamic loader resolves; it is never unloaded. Returns a
  // null handle and the loader's message when loading fails or `name` is empty.
  [[nodiscard]] virtual OpenedLibrary open_library(const std::string& name) const = 0;
  // Returns the address of the symbol `name` in `library`, a handle of open_library(); null when the library has no
  // such symbol.
  [[nodiscard]] virtual void* symbol(void* library, const std::string& name) const = 0;
  // Returns the folder of the shared library or executable that contains Vectis; empty when it cannot be determined.
  [[nodiscard]] virtual std::string module_directory() const = 0;
  // Returns the bytes of physical memory of the machine; 0 when unknown.
  [[nodiscard]] virtual std::uint64_t memory_total_bytes() const = 0;
  // Returns the bytes of physical memory available to new allocations without swapping (MemAvailable); 0 when
  // unknown.
  [[nodiscard]] virtual std::uint64_t memory_free_bytes() const = 0;
  // Returns the fraction of all cores' time that was busy since the previous call, 0 to 1; empty at the first call,
  // when no time has passed, or when the system does not report it.
  [[nodiscard]] virtual std::optional<double> cpu_utilization() = 0;
  // Returns the seconds since 1970-01-01 00:00 UTC by the wall clock, which an administrator may set back: not for
  // measuring durations.
  [[nodiscard]] virtual std::int64_t unix_seconds() const = 0;
  // Returns true when standard output is a terminal; false for a pipe or a file.
  [[nodiscard]] virtual bool stdout_is_terminal() const = 0;
};

// Returns the interface to the real operating system: one object for the process, never destroyed. Thread-safe.
VECTIS_API Os& real_os();
// Returns the mutex that real_os() holds while it reads the environment, the same in the whole process. Drivers change
// the environment when they start, so that backends are opened with it.
VECTIS_API std::recursive_mutex& environment_mutex() noexcept;

// Returns the number of forks between the first call and this process. A value that differs from an earlier one means
// that this process was forked since; a Runtime then throws Forked. Forks before the first call are not counted. Does
// not throw.
VECTIS_API std::uint64_t fork_generation() noexcept;

}  // namespace vectis::inline v0_1
