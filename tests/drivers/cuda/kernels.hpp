// Compiled modules, and launches of their kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernel_abi.h"

namespace vectis::test_driver {

// What the compiler returns and the driver loads: a line that names a file in the cache.
struct Image {
  std::string form;  // "cubin", "ptx" or "hsaco"
  int architecture = 0;
  std::string hash;
};
std::string image_text(const Image& image);
// Fails with code 200 when the text is no image.
Image read_image(const char* text);

// The folder of compiled kernels, shared by all builds.
std::string cache_folder();

class Module {
 public:
  // Fails with code 209 when the image is for another architecture, 200 when its file is missing.
  Module(const Image& image, int architecture);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] const VtdModule& get() const { return *module_; }
  // Null when there is none of that name.
  [[nodiscard]] const VtdKernel* find(const std::string& name) const;
  [[nodiscard]] std::size_t shared_bytes() const {
    return static_cast<std::size_t>(module_->shared_end - module_->shared_begin);
  }

 private:
  void* library_ = nullptr;
  const VtdModule* module_ = nullptr;
};

struct Launch {
  std::shared_ptr<Module> module;
  const VtdKernel* kernel = nullptr;
  VtdTriple grid{};
  VtdTriple group{};
  std::size_t dynamic_shared_bytes = 0;
  std::vector<std::vector<std::byte>> parameters;  // values; addresses as the host's
};

// Runs all blocks one after another, threads as fibers, in orders drawn from `random`. A barrier that some threads of a
// block do not reach, or reach at another line, is a violation.
void run_launch(const Launch& launch, std::mt19937_64& random);

}  // namespace vectis::test_driver
