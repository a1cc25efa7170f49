// The operating system as Vectis sees it: one seam, a real implementation in src/base/os, fakes in tests.
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

enum class FileAccess : std::uint8_t { granted, denied, absent };

// How a child process ended.
struct ProcessResult {
  enum class End : std::uint8_t { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int code = 0;        // exit status, signal number, or errno of a failed start
  std::string output;  // what it wrote to standard output, at most 1 MiB
  std::string error;   // likewise for standard error
};

struct OpenedLibrary {
  void* handle = nullptr;  // null: see `error`
  std::string error;       // the loader's own words
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
  // The file's whole text, or empty when it cannot be read.
  [[nodiscard]] virtual std::optional<std::string> read_file(const std::string& path) const = 0;
  // Puts `bytes` in the place of the file in one step, making folders that are missing, for this user alone: whoever
  // reads meanwhile finds the old bytes or the new ones, and of several writers, in any process, one wins. Io with path
  // and reason when that cannot be done; then nothing has changed. What a power failure leaves is not promised.
  virtual void replace_file(const std::string& path, std::span<const std::byte> bytes) = 0;
  // False when there is no such file or it cannot be removed.
  virtual bool remove_file(const std::string& path) = 0;
  // Names in a directory, sorted; empty when it cannot be listed.
  [[nodiscard]] virtual std::vector<std::string> list_directory(const std::string& path) const = 0;
  // Whether this process may open `path` for reading and writing.
  [[nodiscard]] virtual FileAccess access(const std::string& path) const = 0;
  // Runs a program to its end, killing it after `limit`. Spawned, never forked by hand.
  [[nodiscard]] virtual ProcessResult run(const std::vector<std::string>& command, Duration limit) const = 0;
  // Opened once and never closed.
  [[nodiscard]] virtual OpenedLibrary open_library(const std::string& name) const = 0;
  [[nodiscard]] virtual void* symbol(void* library, const std::string& name) const = 0;
  // The folder of the library or executable that holds Vectis' own code.
  [[nodiscard]] virtual std::string module_directory() const = 0;
  // Bytes of physical memory in all and available now; zero when unknown.
  [[nodiscard]] virtual std::uint64_t memory_total_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t memory_free_bytes() const = 0;
  // Share of all cores that was busy since the previous call; empty at the first one or where the system does not say.
  [[nodiscard]] virtual std::optional<double> cpu_utilization() = 0;
  // Seconds since 1970-01-01 00:00 UTC by the wall clock, which an administrator may set back.
  [[nodiscard]] virtual std::int64_t unix_seconds() const = 0;
  // True when standard output is a terminal; false for a pipe or a file.
  [[nodiscard]] virtual bool stdout_is_terminal() const = 0;
};

// The real one, made once for the process.
VECTIS_API Os& real_os();

// How often this process was forked on its way here; Runtimes compare it to notice that they crossed a fork.
VECTIS_API std::uint64_t fork_generation() noexcept;

}  // namespace vectis::inline v0_1
