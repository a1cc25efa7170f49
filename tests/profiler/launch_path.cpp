// Submits one kind of work to a stream of the null device many times; overhead.py counts the instructions.

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "device/launch.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"

namespace {

using namespace vectis;

constexpr int calls = 1000;

struct Place {
  Stream& stream;
  const DeviceMemory& memory;
  const EntryPoint& kernel;
};

void give(const Place& place, const std::string& work) {
  const std::array views = {detail::OpView{&place.memory, 0, 1, 16, 16, DType::float32}};
  for (int i = 0; i < calls; ++i) {
    if (work == "launch") place.stream.launch(place.kernel, LaunchShape{}, {place.memory, 1.0F});
    if (work == "operation") static_cast<void>(detail::run_op(place.stream, "x", views, {}));
    if (work == "fill") place.stream.fill(place.memory, 0, 64, 1);
  }
}

}  // namespace

// The counted function.
extern "C" [[gnu::noinline]] void counted(const Place& place, const std::string& work) { give(place, work); }

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  RuntimeOptions options;
  options.executor = std::make_shared<SimulatedExecutor>(1);  // no other thread may count
  options.settings["backend_path"] = argv[2];
  Runtime runtime(options);
  const auto device = runtime.service<DeviceRegistry>().find("null");
  if (!device) {
    std::cerr << "there is no null device in " << argv[2] << '\n';
    return 3;
  }
  const DeviceContext context(*device);
  Stream stream(context);
  const DeviceMemory memory(context, 64);
  const EntryPoint kernel(Program(context, device->info().dialects.at(0), "text"), "x");
  const Place place{stream, memory, kernel};
  give(place, argv[1]);  // what is done only once is done now
  counted(place, argv[1]);
  std::cout << calls << '\n';
}
