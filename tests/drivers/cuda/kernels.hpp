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

// What a compiler gives and a driver loads: a few words that name a file in the cache.
struct Image {
  std::string form;  // "cubin", "ptx" or "hsaco"
  int architecture = 0;
  std::string hash;
};
std::string image_text(const Image& image);
// Refuses with code 200 when it is none.
Image read_image(const char* text);

// Where compiled kernels lie: shared by all builds, since they do not depend on how we were compiled.
std::string cache_folder();

class Module {
 public:
  // Refuses with code 209 when the image is not for this architecture, 200 when its file is gone.
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

// Runs all groups, one after the other, threads as fibres, in orders drawn from `random`. A barrier that some threads
// of a group do not reach, or reach at another line, is a violation.
void run_launch(const Launch& launch, std::mt19937_64& random);

}  // namespace vectis::test_driver
