// Paths that callers pass, and new files beside them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/os/process.hpp"

namespace vectis::inline v0_1 {

// Returns whether `path` contains a NUL byte. System calls would end such a path at that byte, and use another file
// than the caller named. Does not throw.
[[nodiscard]] bool has_nul(std::string_view path) noexcept;

// Throws InvalidInput for the call `op` when has_nul(path).
void check_path(std::string_view op, std::string_view path);

// Returns the file that `path` names after following the symbolic links at its end, one after another; the file need
// not exist. Returns `path` itself when it is not a symbolic link or cannot be read. Throws Io for the call `op` when
// there are more than 40 links, as in a cycle.
[[nodiscard]] std::string follow_links(std::string_view op, const std::string& path);

// A new, empty file that is open for writing. `error` is 0, or the errno of the call that failed; then nothing was
// created.
struct TemporaryFile {
  Descriptor descriptor;
  std::string path;
  int error = 0;
};

// Creates a file with `mode`, minus the umask, in the folder of `path`, from where it can be renamed to `path`. Its
// name is random and short, so that nobody can prepare a file or link of that name and any `path` leaves room for it.
[[nodiscard]] TemporaryFile create_beside(const std::string& path, mode_t mode);

}  // namespace vectis::inline v0_1
