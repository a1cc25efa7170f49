#include "api.hpp"

#include <array>
#include <string>

#include "status.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::uint32_t spoken_version = 29;  // the C interface changes with each major version of wgpu-native

#if defined(_WIN32)
constexpr const char* library_name = "wgpu_native.dll";
#elif defined(__APPLE__)
constexpr const char* library_name = "libwgpu_native.dylib";
#else
constexpr const char* library_name = "libwgpu_native.so";
#endif

void* open_library(const Host& host) {
  const char* named = host.setting("library");
  const char* name = named == nullptr ? library_name : named;
  std::array<char, 512> words{};
  VectisMessage message{sizeof(VectisMessage), words.data(), words.size(), VECTIS_REASON_NONE};
  if (void* library = host.library_open(name, &message)) return library;
  throw Failure(VECTIS_BACKEND_CREATION,
                std::string("the library wgpu-native cannot be opened: ") + name + ": " + words.data(),
                VECTIS_REASON_NO_LIBRARY);
}

template <class Function>
void find(const Host& host, void* library, const char* symbol, Function& target) {
  void* address = host.library_symbol(library, symbol);
  if (address == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string("wgpu-native has no ") + symbol + ": version " + std::to_string(spoken_version) +
                      " of it is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  }
  target = reinterpret_cast<Function>(address);
}

}  // namespace

std::string version_text(const Api& api) {
  const std::uint32_t packed = api.GetVersion();
  std::string text = std::to_string(packed >> 24U);
  for (const std::uint32_t shift : {16U, 8U, 0U}) text += "." + std::to_string((packed >> shift) & 0xFFU);
  return text;
}

Api load_api(const Host& host) {
  void* library = open_library(host);
  Api api;
  find(host, library, "wgpuGetVersion", api.GetVersion);
  if (api.GetVersion() >> 24U != spoken_version) {
    throw Failure(
        VECTIS_BACKEND_CREATION,
        "wgpu-native is of version " + version_text(api) + ", version " + std::to_string(spoken_version) + " is needed",
        VECTIS_REASON_DRIVER_TOO_OLD);
  }
#define VECTIS_WEBGPU_FIND(name) find(host, library, "wgpu" #name, api.name);
  VECTIS_WEBGPU_FUNCTIONS(VECTIS_WEBGPU_FIND)
#undef VECTIS_WEBGPU_FIND
  return api;
}

}  // namespace vectis::webgpu
