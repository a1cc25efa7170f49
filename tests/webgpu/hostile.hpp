// Invalid kernels, each with another mistake.
#pragma once

#include <string>
#include <vector>

namespace vectis::test {

struct HostileKernel {
  std::string what;
  std::string text;  // the entry point is `main`
};

std::vector<HostileKernel> hostile_statements();    // a well-formed kernel around a wrong statement
std::vector<HostileKernel> hostile_declarations();  // a mistake outside of functions
std::vector<HostileKernel> hostile_texts();         // no WGSL
std::vector<HostileKernel> hostile_sizes();         // above a limit of the device or of the language

}  // namespace vectis::test
