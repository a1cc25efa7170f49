#include "base/os/replace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "base/os/descriptor.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr mode_t own_folder = 0700;
constexpr mode_t own_file = 0600;

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ErrorCode::io, "replace_file",
              fmt::format("{} cannot be written: {}; check the path, its permissions and the space left", path,
                          std::generic_category().message(error)));
}

// The folder a path is in: empty when it names none.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_not_of('/', path.find_last_of('/'));
  return path.find('/') == std::string::npos || slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Another process may make the same folder at the same time.
void make_folders(const std::string& folder) {
  if (folder.empty() || mkdir(folder.c_str(), own_folder) == 0 || errno == EEXIST) return;
  if (errno != ENOENT) fail(folder, errno);
  make_folders(folder_of(folder));
  if (mkdir(folder.c_str(), own_folder) != 0 && errno != EEXIST) fail(folder, errno);
}

// No other process or thread has this name: process ids of one machine differ, and the counter those of one process.
// A file of a dead process with the same id is no hindrance, it is written over.
std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> counter{0};
  return fmt::format("{}.{}-{}.tmp", path, getpid(), counter.fetch_add(1, std::memory_order_relaxed));
}

// Zero, or the errno of what failed.
int write_all(const std::string& path, std::span<const std::byte> bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, own_file));
  if (!file.is_open()) return errno;
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

}  // namespace

void replace_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string fresh = temporary_name(path);
  int error = write_all(fresh, bytes);
  if (error == ENOENT) {
    make_folders(folder_of(path));
    error = write_all(fresh, bytes);
  }
  if (error == 0 && std::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(fresh.c_str());
  fail(path, error);
}

}  // namespace vectis::inline v0_1
