#include "api.hpp"

#include <string>

namespace vectis::webgpu {

namespace {

constexpr std::uint32_t supported_version = 29;  // each major version of wgpu-native changes the C interface

#if defined(_WIN32)
constexpr const char* library_name = "wgpu_native.dll";
#elif defined(__APPLE__)
constexpr const char* library_name = "libwgpu_native.dylib";
#else
constexpr const char* library_name = "libwgpu_native.so";
#endif

}  // namespace

std::string version_text(const Api& api) {
  const std::uint32_t packed = api.GetVersion();
  std::string text = std::to_string(packed >> 24U);
  for (const std::uint32_t shift : {16U, 8U, 0U}) text += "." + std::to_string((packed >> shift) & 0xFFU);
  return text;
}

Api load_api(const Host& host) {
  const char* setting = host.setting("library");
  const plugin::Library library = host.open_library(setting == nullptr ? library_name : setting);
  if (library.handle == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  "the library wgpu-native cannot be opened: " + library.name + ": " + library.error,
                  VECTIS_REASON_NO_LIBRARY);
  }
  Api api;
  const auto find = [&](const char* symbol, auto& function) {
    if (host.find_symbol(library, symbol, function)) return;
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string("wgpu-native has no ") + symbol + ": version " + std::to_string(supported_version) +
                      " of it is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  };
  find("wgpuGetVersion", api.GetVersion);
  if (api.GetVersion() >> 24U != supported_version) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  "wgpu-native is of version " + version_text(api) + ", version " + std::to_string(supported_version) +
                      " is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  }
#define VECTIS_WEBGPU_FIND(name) find("wgpu" #name, api.name);
  VECTIS_WEBGPU_FUNCTIONS(VECTIS_WEBGPU_FIND)
#undef VECTIS_WEBGPU_FIND
  return api;
}

}  // namespace vectis::webgpu
