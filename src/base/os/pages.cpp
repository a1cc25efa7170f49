#include "vectis/base/pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20U;

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::allocation, "pages",
                fmt::format("the system refused {} bytes of host memory, {} are available; use less or a smaller batch",
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
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace vectis::inline v0_1
