#include "base/os/paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr int links_max = 40;  // as the Linux kernel follows
// Two equal random names of 64 bits do not happen by chance; a second attempt shows that the source is broken.
constexpr int name_attempts = 10;

}  // namespace

bool has_nul(std::string_view path) noexcept { return path.find('\0') != std::string_view::npos; }

void check_path(std::string_view op, std::string_view path) {
  if (!has_nul(path)) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("the path has a NUL byte at position {} of {}, after '{}'; pass a path without it",
                          path.find('\0'), path.size(), path.substr(0, path.find('\0'))));
}

std::string follow_links(std::string_view op, const std::string& path) {
  namespace fs = std::filesystem;
  fs::path target = path;
  std::error_code error;
  for (int links = 0; links <= links_max; ++links) {
    if (fs::symlink_status(target, error).type() != fs::file_type::symlink) return target.string();
    const fs::path next = fs::read_symlink(target, error);
    if (error) return target.string();
    target = target.parent_path() / next;  // `next` alone when it is absolute
  }
  throw Error(ErrorCode::io, op,
              fmt::format("{} leads through more than {} symbolic links; remove the cycle, or pass the file itself",
                          path, links_max));
}

TemporaryFile create_beside(const std::string& path, mode_t mode) {
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);  // empty without a slash
  for (int attempt = 0; attempt < name_attempts; ++attempt) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return {Descriptor(), {}, errno};
    std::string name = fmt::format("{}.{:016x}.saving", folder, random);
    Descriptor file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file.is_open()) return {std::move(file), std::move(name), 0};
    if (errno != EEXIST) return {Descriptor(), {}, errno};
  }
  return {Descriptor(), {}, EEXIST};
}

}  // namespace vectis::inline v0_1
