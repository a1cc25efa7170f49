// vectis-probe PLUGIN CONFIG: loads one plug-in and prints its status as one line. The doctor runs it as a separate
// process, so that a crashing plug-in does not crash the caller.

#include <iostream>

#include "vectis/base.hpp"
#include "vectis/device.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: vectis-probe PLUGIN CONFIG; CONFIG may be empty\n";
    return 2;
  }
  try {
    vectis::RuntimeOptions options;
    if (argv[2][0] != '\0') options.settings["config"] = argv[2];
    vectis::Runtime runtime(options);
    vectis::probe(std::cout, runtime, argv[1]);
    return 0;
  } catch (const vectis::Error& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
