#include "ptx/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vectis/base/error.hpp"
#include "vectis/base/os.hpp"

struct _nvrtcProgram;  // declared by nvrtc.h under this name

namespace vectis::ptx {

namespace {

using Handle = ::_nvrtcProgram*;
using SizeOf = int (*)(Handle, std::size_t*);
using TextOf = int (*)(Handle, char*);

void check(int code, const char* call) {
  if (code == 0) return;
  throw Error(ErrorCode::driver_failure, "ptx", fmt::format("{} failed with {}; try another NVRTC", call, code));
}

// Reads the PTX or the log of a program, without the terminating zero that its size includes.
std::string text_of(Handle program, SizeOf size_of, TextOf text_of_it, const char* call) {
  std::size_t bytes = 0;
  check(size_of(program, &bytes), call);
  std::string text(bytes, '\0');
  if (bytes > 0) check(text_of_it(program, text.data()), call);
  text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
  return text;
}

}  // namespace

Nvrtc::Nvrtc(const std::string& library) : file_(library) {
  const OpenedLibrary opened = real_os().open_library(library);
  if (opened.handle == nullptr) throw Error(ErrorCode::io, "ptx", opened.error + "; set NVRTC_LIBRARY");
  library_ = opened.handle;
}

template <class Function>
Function Nvrtc::symbol(const char* name) const {
  void* const found = real_os().symbol(library_, name);
  if (found == nullptr) {
    throw Error(ErrorCode::io, "ptx", fmt::format("{} has no {}; set NVRTC_LIBRARY to a newer one", file_, name));
  }
  return reinterpret_cast<Function>(found);
}

std::string Nvrtc::version() const {
  int major = 0;
  int minor = 0;
  check(symbol<int (*)(int*, int*)>("nvrtcVersion")(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  check(symbol<int (*)(int*)>("nvrtcGetNumSupportedArchs")(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> numbers(static_cast<std::size_t>(std::max(count, 0)));
  check(symbol<int (*)(int*)>("nvrtcGetSupportedArchs")(numbers.data()), "nvrtcGetSupportedArchs");
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string Nvrtc::compile(const std::string& text, const std::vector<std::string>& options) const {
  using Create = int (*)(Handle*, const char*, const char*, int, const char* const*, const char* const*);
  using Compile = int (*)(Handle, int, const char* const*);
  Handle program = nullptr;
  check(symbol<Create>("nvrtcCreateProgram")(&program, text.c_str(), "kernel", 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  const auto destroy = symbol<int (*)(Handle*)>("nvrtcDestroyProgram");
  try {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    const int code = symbol<Compile>("nvrtcCompileProgram")(program, static_cast<int>(words.size()), words.data());
    if (code != 0) {
      const std::string log = text_of(program, symbol<SizeOf>("nvrtcGetProgramLogSize"),
                                      symbol<TextOf>("nvrtcGetProgramLog"), "nvrtcGetProgramLog");
      throw Error(ErrorCode::compile_failed, "ptx", fmt::format("NVRTC failed with {}: {}", code, log));
    }
    std::string ptx = text_of(program, symbol<SizeOf>("nvrtcGetPTXSize"), symbol<TextOf>("nvrtcGetPTX"), "nvrtcGetPTX");
    destroy(&program);
    return ptx;
  } catch (...) {
    destroy(&program);
    throw;
  }
}

}  // namespace vectis::ptx
