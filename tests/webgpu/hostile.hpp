// Kernels no device may run, each wrong in a way of its own.
#pragma once

#include <string>
#include <vector>

namespace vectis::test {

struct HostileKernel {
  std::string what;
  std::string text;  // the entry point is `main`
};

std::vector<HostileKernel> hostile_statements();    // a well-formed kernel around a wrong statement
std::vector<HostileKernel> hostile_declarations();  // wrong outside of functions
std::vector<HostileKernel> hostile_texts();         // hardly WGSL at all
std::vector<HostileKernel> hostile_sizes();         // over a limit of the device or of the language

}  // namespace vectis::test
