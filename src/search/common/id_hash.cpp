#include "search/common/id_hash.hpp"

#include <exception>
#include <random>

#include "vectis/base/random.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::detail {

namespace {

std::uint64_t draw_seed(const void* address) noexcept {
  try {
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
  } catch (const std::exception&) {  // the system has no random numbers
    return monotonic_nanoseconds() ^ reinterpret_cast<std::uintptr_t>(address);
  }
}

}  // namespace

IdHash::IdHash() noexcept {
  Random random(draw_seed(this));
  key_ = random.next();
  multiplier_ = random.next() | 1U;
}

}  // namespace vectis::inline v0_1::detail
