// Replaces operator new of the whole program, also for plug-ins, and counts its calls by thread.
#include <cstddef>
#include <cstdlib>
#include <new>

namespace vectis::test {

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;

}  // namespace

void start_counting_allocations();
std::size_t stop_counting_allocations();

void start_counting_allocations() {
  allocations = 0;
  counting = true;
}

std::size_t stop_counting_allocations() {
  counting = false;
  return allocations;
}

// Separate from operator new, which has to be outside of a namespace.
void* counted_allocation(std::size_t bytes);
void* counted_allocation(std::size_t bytes) {
  if (counting) ++allocations;
  if (void* const address = std::malloc(bytes == 0 ? 1 : bytes)) return address;  // NOLINT(cppcoreguidelines-no-malloc)
  throw std::bad_alloc();
}

}  // namespace vectis::test

// NOLINTBEGIN(misc-new-delete-overloads,cppcoreguidelines-no-malloc)
void* operator new(std::size_t bytes) { return vectis::test::counted_allocation(bytes); }
void operator delete(void* address) noexcept { std::free(address); }
void operator delete(void* address, std::size_t /*bytes*/) noexcept { std::free(address); }
// NOLINTEND(misc-new-delete-overloads,cppcoreguidelines-no-malloc)
