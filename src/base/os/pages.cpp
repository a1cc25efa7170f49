#include "vectis/base/pages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/os/paths.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

namespace {

// Below this, memory comes from the heap: mapping, touching and unmapping a page takes 3 to 6 microseconds.
constexpr std::size_t mapped_min = std::size_t{32} << 10U;
constexpr std::size_t small_page = 4096;  // bytes, to which memory of the heap is rounded as mapped memory is
constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20U;  // bytes, on x86-64 and AArch64 with 4 KiB pages

[[noreturn]] void cannot_map(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::io, "map",
              fmt::format("{} cannot be mapped: {}; check the path and its permissions", path, reason));
}

std::string last_reason() { return std::generic_category().message(errno); }

// Returns zeroed memory, null when there is none.
void* allocate_zeroed(std::size_t bytes) noexcept {
  if (bytes >= mapped_min) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  const std::size_t rounded = (bytes + small_page - 1) / small_page * small_page;
  void* const memory = std::aligned_alloc(cache_line, rounded);
  return memory == nullptr ? nullptr : std::memset(memory, 0, rounded);
}

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const memory = allocate_zeroed(bytes);
  if (memory == nullptr) {
    throw Error(
        ErrorCode::allocation, "pages",
        fmt::format("the system refused {} bytes of host memory, {} are available; request less or use smaller batches",
                    bytes, real_os().memory_free_bytes()));
  }
  // A refusal leaves small pages, which are slower and otherwise the same.
  if (bytes >= huge_page) static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
  data_ = static_cast<std::byte*>(memory);
}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (bytes_ >= mapped_min) {
    munmap(data_, bytes_);
  } else {
    std::free(data_);
  }
}

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  check_path("map", path_);
  const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) cannot_map(path_, last_reason());
  struct stat status = {};
  if (fstat(file.number(), &status) != 0) cannot_map(path_, last_reason());
  if (!S_ISREG(status.st_mode)) cannot_map(path_, "not a regular file");
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
