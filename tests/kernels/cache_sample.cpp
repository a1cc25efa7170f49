// A process that compiles through the cache: cache_sample ROUND COUNT compiles COUNT kernels in an order of its own and
// checks what they compute. Prints its statistics: "compiled 3 disk 1 rebuilt 0".

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/cache.hpp"

namespace {

using namespace vectis;

// Writes `number` and reads it back.
bool right(const DeviceContext& context, KernelCache& cache, int number) {
  const std::string text = "__kernel void k(__global int* x) { x[0] = " + std::to_string(number) + "; }";
  const EntryPoint kernel(cache.program(context, "opencl-c", text), "k");
  const DeviceMemory memory(context, sizeof(int));
  Stream stream(context);
  stream.launch(kernel, {}, {memory});
  int found = -1;
  stream.copy_to_host(std::as_writable_bytes(std::span(&found, 1)), memory, 0);
  stream.synchronize();
  return found == number;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int first = std::atoi(argv[1]);
  const int count = std::atoi(argv[2]);
  Runtime runtime;
  KernelCache& cache = kernel_cache(runtime);
  const DeviceContext context(*runtime.service<DeviceRegistry>().find("opencl"));
  for (int i = 0; i < count; ++i) {
    if (!right(context, cache, (first + i) % count)) return 1;
  }
  const CacheStatistics statistics = cache.statistics();
  std::cout << "compiled " << statistics.compiled << " disk " << statistics.disk_hits << " rebuilt "
            << statistics.rebuilt << "\n";
  return 0;
}
