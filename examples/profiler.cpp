// The profiler: what ran on the device, when and for how long, as a table and as a trace for ui.perfetto.dev.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <vectis/vectis.hpp>
#include <vector>

namespace {

// Connects another profiler: NVTX would push and pop a range here, Tracy open and close a zone.
class Depth : public vectis::ProfilerSink {
 public:
  void begin(const vectis::HostSpan& /*span*/) override { deepest = std::max(deepest, ++depth); }
  void end(const vectis::HostSpan& /*span*/) override { --depth; }
  int depth = 0;
  int deepest = 0;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t size = 256;
  vectis::Runtime runtime;
  const vectis::Device device = vectis::default_device(runtime);  // VECTIS_DEVICE=opencl selects another
  vectis::MemoryPool& pool = vectis::memory_pool(runtime);
  const vectis::ManagedBuffer x = pool.get_managed_buffer(device.id(), size * size, vectis::Precision::fp32);
  vectis::Stream stream(x.memory().context());

  vectis::Profiler profiler(runtime);  // records from here on
  const auto depth = std::make_shared<Depth>();
  profiler.add_sink(depth);

  const std::vector<float> host(size * size, 0.5F);
  for (int step = 0; step < 3; ++step) {
    const vectis::ProfileRange range(profiler, "step");
    const vectis::ManagedBuffer sums = pool.get_managed_buffer(device.id(), size, vectis::Precision::fp32);
    stream.copy_to_device(x.memory(), 0, std::as_bytes(std::span(host)));
    vectis::run(stream, "sum_rows",
                {{x.memory(), vectis::DType::float32, size, size}, {sums.memory(), vectis::DType::float32, size, 1}});
    profiler.start("wait");
    stream.synchronize();
    profiler.end("wait", 0, device.id());
  }

  profiler.print_summary(std::cout);
  if (argc > 1) {  // path of the trace file
    std::ofstream file(argv[1]);
    profiler.write_trace(file);
  }
  return depth->deepest >= 3 && profiler.losses().dropped == 0 ? 0 : 1;  // step, sum_rows and its call
}
