// The memory pool: buffers that return themselves, a limit, and the out-of-memory error that says what would fit.

#include <iostream>
#include <vectis/vectis.hpp>

int main() {
  vectis::Runtime runtime;
  vectis::MemoryPool& pool = vectis::memory_pool(runtime);
  const int device = vectis::default_device(runtime).id();
  pool.set_max_pool_size(device, 64 << 20);

  for (int step = 0; step < 10; ++step) {
    const vectis::ManagedBuffer buffer = pool.get_managed_buffer(device, 1 << 20, vectis::Precision::fp32);
  }
  const vectis::MemoryStats stats = *pool.get_memory_stats(device);
  std::cout << stats.allocations << " buffers, " << stats.device_allocations << " allocations of the device\n";

  try {
    const vectis::ManagedBuffer too_much = pool.get_managed_buffer(device, 32 << 20, vectis::Precision::fp32);
  } catch (const vectis::OutOfMemoryError& error) {
    std::cout << error.what() << "\n\n" << error.detail();
    return error.report().kind == vectis::OutOfMemoryKind::over_limit ? 0 : 1;
  }
  return 1;
}
