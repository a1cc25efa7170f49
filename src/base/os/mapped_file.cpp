#include "vectis/base/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/os/descriptor.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

[[noreturn]] void cannot_map(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::io, "map",
              fmt::format("{} cannot be mapped: {}; check the path and its permissions", path, reason));
}

std::string last_reason() { return std::generic_category().message(errno); }

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) cannot_map(path_, last_reason());
  struct stat status = {};
  if (fstat(file.number(), &status) != 0) cannot_map(path_, last_reason());
  if (!S_ISREG(status.st_mode)) cannot_map(path_, "it is no file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0);
  if (memory == MAP_FAILED) cannot_map(path_, last_reason());
  bytes_ = {static_cast<std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace vectis::inline v0_1
