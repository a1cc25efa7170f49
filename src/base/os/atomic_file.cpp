// AtomicFileWriter of vectis/base/file.hpp, which needs calls of the operating system.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "base/os/process.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/file.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::size_t buffered_bytes = std::size_t{1} << 20U;
constexpr mode_t new_file_mode = 0666;  // minus the umask of the process

[[noreturn]] void throw_unwritable(const std::string& path, int error) {
  throw Error(ErrorCode::io, "save",
              fmt::format("{} cannot be written: {}; check the path, its permissions and the space left", path,
                          std::generic_category().message(error)));
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
  Descriptor descriptor;
  std::string path;  // the temporary one
  std::vector<std::byte> buffer;
};

AtomicFileWriter::AtomicFileWriter(std::string path) : path_(std::move(path)), file_(std::make_unique<File>()) {
  static std::atomic<std::uint64_t> counter{0};
  file_->path = fmt::format("{}.{}-{}.saving", path_, getpid(), counter.fetch_add(1, std::memory_order_relaxed));
  file_->buffer.reserve(buffered_bytes);
  file_->descriptor = Descriptor(open(file_->path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, new_file_mode));
  if (!file_->descriptor.is_open()) throw_unwritable(path_, errno);
}

AtomicFileWriter::~AtomicFileWriter() {
  if (file_ == nullptr) return;
  file_->descriptor.close();
  unlink(file_->path.c_str());
}

void AtomicFileWriter::flush() {
  if (const int error = write_all(file_->descriptor, file_->buffer); error != 0) throw_unwritable(path_, error);
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
  if (fsync(file_->descriptor.number()) != 0) throw_unwritable(path_, errno);
  if (std::rename(file_->path.c_str(), path_.c_str()) != 0) throw_unwritable(path_, errno);
  file_.reset();
  flush_folder_of(path_);
}

}  // namespace vectis::inline v0_1
