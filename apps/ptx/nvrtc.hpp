// NVRTC, loaded at run time: compiles CUDA C++ to PTX.
#pragma once

#include <string>
#include <vector>

namespace vectis::ptx {

// One thread at a time.
class Nvrtc {
 public:
  // Throws Io if the library cannot be opened. The other functions throw Io if it lacks a symbol of NVRTC.
  explicit Nvrtc(const std::string& library);

  // "12.9".
  [[nodiscard]] std::string version() const;
  // The supported architectures in ascending order: 75 is sm_75.
  [[nodiscard]] std::vector<int> architectures() const;
  // Returns PTX. Throws CompileFailed with the compiler's log.
  [[nodiscard]] std::string compile(const std::string& text, const std::vector<std::string>& options) const;

 private:
  template <class Function>
  [[nodiscard]] Function symbol(const char* name) const;

  std::string file_;
  void* library_ = nullptr;
};

}  // namespace vectis::ptx
