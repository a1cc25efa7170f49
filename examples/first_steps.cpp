// What is here, what is used and why, and a round trip through the chosen device.

#include <iostream>
#include <vectis/base.hpp>
#include <vectis/device.hpp>
#include <vector>

int main() {
  vectis::Runtime runtime;
  for (const vectis::Device& device : runtime.service<vectis::DeviceRegistry>().devices()) {
    std::cout << device.id() << "  " << device.label() << "  " << device.info().name << '\n';
  }

  const vectis::DeviceChoice choice = vectis::choose_device(runtime);
  std::cout << "using " << choice.device.label() << ": " << choice.reason << '\n';

  const std::vector<float> numbers = {1, 2, 3};
  std::vector<float> back(3);
  const vectis::DeviceContext context(choice.device);
  const vectis::DeviceMemory memory(context, sizeof(float) * numbers.size());
  vectis::Stream stream(context);
  stream.copy_to_device(memory, 0, std::as_bytes(std::span(numbers)));
  stream.copy_to_host(std::as_writable_bytes(std::span(back)), memory, 0);
  stream.synchronize();
  std::cout << (back == numbers ? "there and back\n" : "something is wrong\n");
  return back == numbers ? 0 : 1;
}
