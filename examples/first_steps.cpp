// Lists the devices, selects one, copies three floats to its memory and back.

#include <iostream>
#include <vectis/vectis.hpp>
#include <vector>

int main() {
  vectis::Runtime runtime;
  for (const vectis::Device& device : runtime.service<vectis::DeviceRegistry>().devices()) {
    std::cout << device.id() << "  " << device.label() << "  " << device.info().name << '\n';
  }

  const vectis::DeviceChoice choice = vectis::choose_device(runtime);
  std::cout << "using " << choice.device.label() << ": " << choice.reason << '\n';

  const std::vector<float> values = {1, 2, 3};
  std::vector<float> back(3);
  const vectis::DeviceContext context(choice.device);
  const vectis::DeviceMemory memory(context, sizeof(float) * values.size());
  vectis::Stream stream(context);
  stream.copy_to_device(memory, 0, std::as_bytes(std::span(values)));
  stream.copy_to_host(std::as_writable_bytes(std::span(back)), memory, 0);
  stream.synchronize();
  std::cout << (back == values ? "copied to the device and back\n" : "the copy differs\n");
  return back == values ? 0 : 1;
}
