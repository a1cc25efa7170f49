// A small program with a custom kernel, right or wrong on purpose, to be run under Oclgrind:
// oclgrind_sample right|beyond|race

#include <iostream>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/custom.hpp"

namespace {

using namespace vectis;

// Every element takes its left neighbor's value.
KernelSource shift(const std::string& store) {
  KernelSource source;
  source.name = "shift";
  source.buffers = {{"x", DType::float32, Access::read}, {"y", DType::float32, Access::write}};
  source.scalars = {{"count", DType::uint32}};
  source.group = {32, 1, 1};
  source.body = "uint i = GLOBAL_ID(0);\nif (i < count) {\n" + store + "\n}\n";
  return source;
}

std::string store_of(const std::string& which) {
  if (which == "beyond") return "STORE_y(i + 1u, LOAD_x(i));";  // the last one has no right neighbor
  if (which == "race") return "STORE_y(i / 2u, F32(i));";       // two items write one element
  return "STORE_y(i, LOAD_x(i > 0u ? i - 1u : 0u));";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Runtime runtime;
  KernelManager manager(runtime);
  const DeviceContext context(*runtime.service<DeviceRegistry>().find("opencl"));
  std::cout << context.device().info().name << "\n";
  const std::vector<float> values(100, 1.0F);
  const DeviceMemory x(context, values.size() * sizeof(float));
  const DeviceMemory y(context, values.size() * sizeof(float));
  Stream stream(context);
  stream.copy_to_device(x, 0, std::as_bytes(std::span(values)));
  manager.launch(stream, manager.make_kernel(shift(store_of(argv[1])), "opencl"), {100}, {x, y, 100});
  stream.synchronize();
  return 0;
}
