#include "base/os/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace vectis::inline v0_1 {

namespace {

// The loader knows the executable only by the name it was called with, so the kernel is asked for it.
std::filesystem::path own_module() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&own_module_directory), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ==
      0) {
    return {};
  }
  const bool is_executable = map->l_name == nullptr || map->l_name[0] == '\0';
  return is_executable ? "/proc/self/exe" : info.dli_fname;
}

}  // namespace

OpenedLibrary open_library(const std::string& name) {
  if (name.empty()) return {nullptr, "no library was named"};  // the loader would open the executable itself
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return {handle, {}};
  const char* const reason = dlerror();
  return {nullptr, reason == nullptr ? "the loader gave no reason" : reason};
}

void* library_symbol(void* library, const std::string& name) { return dlsym(library, name.c_str()); }

std::string own_module_directory() {
  std::error_code error;
  return std::filesystem::canonical(own_module(), error).parent_path().string();
}

}  // namespace vectis::inline v0_1
