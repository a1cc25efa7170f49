// A custom kernel: its source, compiled for a device at run time, launched on two buffers, and cached on disk.

#include <algorithm>
#include <iostream>
#include <vectis/vectis.hpp>
#include <vector>

namespace {

// y = x * x + shift. LOAD_x, STORE_y and GLOBAL_ID are macros that Vectis defines for every kernel language.
vectis::KernelSource square_and_shift() {
  vectis::KernelSource source;
  source.name = "square_and_shift";
  source.buffers = {{"x", vectis::DType::float32, vectis::Access::read},
                    {"y", vectis::DType::float32, vectis::Access::write}};
  source.scalars = {{"count", vectis::DType::uint32}, {"shift", vectis::DType::float32}};
  source.body = R"(
    uint i = GLOBAL_ID(0);
    if (i < count) {
      float value = LOAD_x(i);
      STORE_y(i, value * value + shift);
    }
  )";
  return source;
}

}  // namespace

int main() try {
  vectis::Runtime runtime;
  const auto& devices = runtime.service<vectis::DeviceRegistry>().devices();
  const auto device = std::ranges::find_if(devices, [](const vectis::Device& candidate) {
    return std::ranges::any_of(candidate.info().dialects, [](const std::string& dialect) {
      return dialect == "opencl-c" || dialect == "cuda-c++" || dialect == "hip-c++";  // a portable kernel is printed so
    });
  });
  if (device == devices.end()) {
    std::cout
        << "No device here compiles portable kernels (opencl, cuda, hip); `vectis doctor` says what to install.\n";
    return 0;
  }

  vectis::KernelManager manager(runtime);
  const vectis::Kernel kernel = manager.make_kernel(square_and_shift(), device->label());
  std::cout << kernel.name << " on " << device->label() << ": " << kernel.compiled_binary.size() << " bytes to keep\n";

  constexpr std::uint32_t count = 1000;
  vectis::MemoryPool& pool = vectis::memory_pool(runtime);
  const vectis::ManagedBuffer x = pool.get_managed_buffer(device->id(), count, vectis::Precision::fp32);
  const vectis::ManagedBuffer y = pool.get_managed_buffer(device->id(), count, vectis::Precision::fp32);
  std::vector<float> values(count, 3.0F);
  vectis::Stream stream(x.memory().context());
  stream.copy_to_device(x.memory(), 0, std::as_bytes(std::span(values)));
  manager.launch(stream, kernel, {count}, {x, y, count, 1.0F});
  stream.copy_to_host(std::as_writable_bytes(std::span(values)), y.memory(), 0);
  stream.synchronize();
  std::cout << "3 * 3 + 1 = " << values.back() << "\n";

  try {
    manager.launch(stream, kernel, {count}, {x, y, count, 1.0});  // a double where a float belongs
  } catch (const vectis::Error& error) {
    std::cout << error.what() << "\n";
  }
  return values.back() == 10.0F ? 0 : 1;
} catch (const vectis::Error& error) {
  std::cerr << error.what() << "\n" << error.detail() << "\n";
  return 1;
}
