// NVRTC, loaded at run time: compiles CUDA C++ to PTX.
#pragma once

#include <string>
#include <vector>

namespace vectis::ptx {

// NVRTC, the run-time compiler of CUDA, loaded from a shared library. Every function but the constructor throws Io
// when the library lacks one of its symbols. One thread at a time.
class Nvrtc {
 public:
  // Opens the shared library at the path or name `library`. Throws Io when the library cannot be opened.
  explicit Nvrtc(const std::string& library);

  // Returns the version of NVRTC, such as "12.9". Throws Io when the library lacks the symbol, DriverFailure when the
  // call fails.
  [[nodiscard]] std::string version() const;
  // Returns the supported architectures in ascending order; 75 is sm_75. Throws Io when the library lacks a symbol,
  // DriverFailure when a call fails.
  [[nodiscard]] std::vector<int> architectures() const;
  // Compiles the CUDA C++ source `text` with NVRTC's `options` and returns PTX. Throws CompileFailed with the
  // compiler's log when the source is invalid, Io when the library lacks a symbol, and DriverFailure when another
  // call fails.
  [[nodiscard]] std::string compile(const std::string& text, const std::vector<std::string>& options) const;

 private:
  // Returns the function `name` of the library. Throws Io when the library has no such symbol.
  template <class Function>
  [[nodiscard]] Function symbol(const char* name) const;

  std::string file_;
  void* library_ = nullptr;
};

}  // namespace vectis::ptx
