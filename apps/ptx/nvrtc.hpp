// NVRTC, by its library: CUDA C++ to PTX.
#pragma once

#include <string>
#include <vector>

namespace vectis::ptx {

// One thread at a time.
class Nvrtc {
 public:
  // Throws Io when the library cannot be opened or is no NVRTC.
  explicit Nvrtc(const std::string& library);

  // "12.9".
  [[nodiscard]] std::string version() const;
  // The numbers of the architectures it compiles for, ascending: 75 is sm_75.
  [[nodiscard]] std::vector<int> architectures() const;
  // Throws CompileFailed with what the compiler said.
  [[nodiscard]] std::string compile(const std::string& text, const std::vector<std::string>& options) const;

 private:
  template <class Function>
  [[nodiscard]] Function symbol(const char* name) const;

  std::string file_;
  void* library_ = nullptr;
};

}  // namespace vectis::ptx
