// Lists the devices through the installed package.
#include <cstdio>
#include <vectis/vectis.hpp>

int main() try {
  const auto devices = vectis::Runtime::get_default().service<vectis::DeviceRegistry>().devices();
  for (const vectis::Device& device : devices)
    std::printf("%s %s\n", device.label().c_str(), device.info().name.c_str());
  return devices.empty() ? 1 : 0;
} catch (const vectis::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
