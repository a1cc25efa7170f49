// The interface to the operating system: implemented in src/base/os, replaced by a fake in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

// Result of Os::access: may be opened, exists but may not be opened, does not exist.
enum class FileAccess : std::uint8_t { granted, denied, absent };

// How a child process ended.
struct ProcessResult {
  enum class End : std::uint8_t { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int code = 0;        // exit status, signal number, or errno of a failed start
  std::string output;  // what it wrote to standard output, at most 1 MiB
  std::string error;   // likewise for standard error
};

// Result of Os::open_library.
struct OpenedLibrary {
  void* handle = nullptr;  // null: see `error`
  std::string error;       // the dynamic loader's message
};

// Thread-safe.
class VECTIS_API Os {
 public:
  Os() = default;
  Os(const Os&) = delete;
  Os& operator=(const Os&) = delete;
  virtual ~Os() = default;

  // The value of an environment variable; empty when it is not set.
  [[nodiscard]] virtual std::optional<std::string> environment(const std::string& name) const = 0;
  // The names of all environment variables, sorted.
  [[nodiscard]] virtual std::vector<std::string> environment_names() const = 0;
  // The content of the file; empty optional when it cannot be read.
  [[nodiscard]] virtual std::optional<std::string> read_file(const std::string& path) const = 0;
  // Replaces the file's content atomically (temporary file and rename), creating missing folders, readable by this user
  // alone. Concurrent readers see the old or the new bytes; of concurrent writers, in any process, one wins. Throws Io
  // with path and reason when that fails; the file is then unchanged. Not durable across a power failure.
  virtual void replace_file(const std::string& path, std::span<const std::byte> bytes) = 0;
  // Returns false when the file does not exist or cannot be removed.
  virtual bool remove_file(const std::string& path) = 0;
  // Names in a directory, sorted; empty when it cannot be listed.
  [[nodiscard]] virtual std::vector<std::string> list_directory(const std::string& path) const = 0;
  // Whether this process may open `path` for reading and writing.
  [[nodiscard]] virtual FileAccess access(const std::string& path) const = 0;
  // Runs a program (found through PATH) and waits for it; kills it after `limit`. Uses posix_spawn, not fork.
  [[nodiscard]] virtual ProcessResult run(const std::vector<std::string>& command, Duration limit) const = 0;
  // Loads a shared library by path, or by a name that the dynamic loader resolves. Never unloaded.
  [[nodiscard]] virtual OpenedLibrary open_library(const std::string& name) const = 0;
  // The address of a symbol of the library, or null.
  [[nodiscard]] virtual void* symbol(void* library, const std::string& name) const = 0;
  // The folder of the library or executable that contains Vectis.
  [[nodiscard]] virtual std::string module_directory() const = 0;
  // Total and available bytes of physical memory; 0 when unknown.
  [[nodiscard]] virtual std::uint64_t memory_total_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t memory_free_bytes() const = 0;
  // The fraction of all cores' time that was busy since the previous call, 0 to 1; empty at the first call or when the
  // system does not report it.
  [[nodiscard]] virtual std::optional<double> cpu_utilization() = 0;
  // Seconds since 1970-01-01 00:00 UTC by the wall clock, which an administrator may set back.
  [[nodiscard]] virtual std::int64_t unix_seconds() const = 0;
  // True when standard output is a terminal; false for a pipe or a file.
  [[nodiscard]] virtual bool stdout_is_terminal() const = 0;
};

// The real operating system: one object for the process, never destroyed.
VECTIS_API Os& real_os();

// The number of forks between the first call and this process. A Runtime compares it with the value at its construction
// to detect that it is used in a forked child.
VECTIS_API std::uint64_t fork_generation() noexcept;

}  // namespace vectis::inline v0_1
