// vectis-probe PLUGIN CONFIG: loads one plug-in and writes what it found as a line. The doctor starts it, so that a
// plug-in that crashes takes this process and not the program that asked.

#include <iostream>

#include "vectis/base.hpp"
#include "vectis/device.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: vectis-probe PLUGIN CONFIG; an empty CONFIG means none was named\n";
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
