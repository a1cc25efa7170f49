// AtomicFileWriter of vectis/base/file.hpp, which needs calls of the operating system.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/os/paths.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::size_t buffered_bytes = std::size_t{1} << 20U;
constexpr mode_t new_file_mode = 0666;  // minus the umask of the process
constexpr mode_t permission_bits = 0777;

[[noreturn]] void throw_unwritable(const std::string& path, int error) {
  throw Error(ErrorCode::io, "save",
              fmt::format("{} cannot be written: {}; check the path, its permissions and the space left", path,
                          std::generic_category().message(error)));
}

std::string_view type_name(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// The permissions of the regular file at `path`; nothing when there is no file. Throws InvalidInput when something else
// than a regular file is there, since a rename would replace it, and Io when that cannot be found out.
std::optional<mode_t> permissions_of(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_unwritable(path, errno);
  }
  if (S_ISREG(status.st_mode)) return status.st_mode & permission_bits;
  throw Error(ErrorCode::invalid_input, "save",
              fmt::format("{} is {}, and only a regular file can be replaced; pass the path of a file, or write "
                          "through another ByteWriter",
                          path, type_name(status.st_mode)));
}

// A rename is durable only after its folder is flushed. Errors are ignored: some file systems cannot flush a folder,
// and the file has already been replaced.
void flush_folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_open()) static_cast<void>(fsync(descriptor.number()));
}

}  // namespace

struct AtomicFileWriter::File {
  TemporaryFile temporary;
  std::vector<std::byte> buffer;
  int error = 0;  // of the first call that failed: part of the buffer may have been written, so that none can follow

  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (temporary.descriptor.is_open()) unlink(temporary.path.c_str());
  }
};

AtomicFileWriter::AtomicFileWriter(std::string path) : path_(std::move(path)), file_(std::make_unique<File>()) {
  check_path("save", path_);
  path_ = follow_links("save", path_);
  const std::optional<mode_t> permissions = permissions_of(path_);
  file_->buffer.reserve(buffered_bytes);
  file_->temporary = create_beside(path_, permissions.value_or(new_file_mode));
  if (file_->temporary.error != 0) throw_unwritable(path_, file_->temporary.error);
  // The umask has removed bits that the old file may have.
  if (permissions && fchmod(file_->temporary.descriptor.number(), *permissions) != 0) throw_unwritable(path_, errno);
}

AtomicFileWriter::~AtomicFileWriter() = default;

void AtomicFileWriter::flush() {
  if (file_->error == 0) file_->error = write_all(file_->temporary.descriptor, file_->buffer);
  if (file_->error != 0) throw_unwritable(path_, file_->error);
  file_->buffer.clear();
}

void AtomicFileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), buffered_bytes - file_->buffer.size());
    file_->buffer.insert(file_->buffer.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
    if (file_->buffer.size() == buffered_bytes) flush();
  }
}

void AtomicFileWriter::commit() {
  flush();
  TemporaryFile& temporary = file_->temporary;
  if (fsync(temporary.descriptor.number()) != 0) {
    file_->error = errno;  // the system may report the loss of bytes once
    throw_unwritable(path_, file_->error);
  }
  if (std::rename(temporary.path.c_str(), path_.c_str()) != 0) throw_unwritable(path_, errno);
  temporary.descriptor.close();
  file_.reset();
  flush_folder_of(path_);
}

}  // namespace vectis::inline v0_1
