#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vectis::kernels {

struct Choice {
  std::size_t programs = 0;
  std::uint64_t seed = 1;
  std::string operations = ".*";
};

void print_all(const std::filesystem::path& folder, const Choice& choice);
// Both print each failure to standard output and return 1 if there was one.
int build_all(const std::filesystem::path& folder, const std::string& device);
int launch_all(const std::string& device, const Choice& choice);

}  // namespace vectis::kernels
