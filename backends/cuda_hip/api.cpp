#include "api.hpp"

#include <array>
#include <string>

#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

struct Library {
  void* handle = nullptr;
  std::string name;
  std::string words;  // of the loader, when there is no handle
};

Library open_library(const Host& host, const char* name) {
  std::array<char, 512> words{};
  VectisMessage message{sizeof(VectisMessage), words.data(), words.size(), VECTIS_REASON_NONE};
  void* handle = host.library_open(name, &message);
  return {handle, name, words.data()};
}

Library open_driver(const Host& host) {
  if (const char* wanted = host.setting("driver"); wanted != nullptr) return open_library(host, wanted);
  Library library;
  for (const char* name : driver_libraries) {
    library = open_library(host, name);
    if (library.handle != nullptr) break;
  }
  return library;
}

template <class Function>
bool find(const Host& host, const Library& library, const char* symbol, Function& target) {
  target = reinterpret_cast<Function>(host.library_symbol(library.handle, symbol));
  return target != nullptr;
}

}  // namespace

Api load_api(const Host& host) {
  const Library library = open_driver(host);
  if (library.handle == nullptr) {
    throw Failure(
        VECTIS_BACKEND_CREATION,
        std::string("the ") + driver_title + " driver " + library.name + " cannot be opened: " + library.words,
        VECTIS_REASON_NO_LIBRARY);
  }
  Api api;
  const auto need = [&](const char* symbol, auto& target) {
    if (find(host, library, symbol, target)) return;
    throw Failure(VECTIS_BACKEND_CREATION,
                  library.name + " has no " + symbol + ": it is older than " + backend_requirement,
                  VECTIS_REASON_DRIVER_TOO_OLD);
  };
#define VECTIS_DRIVER_NEED(member, function, symbol) need(symbol, api.member);
#define VECTIS_DRIVER_TRY(member, function, symbol) find(host, library, symbol, api.member);
  VECTIS_DRIVER_FUNCTIONS(VECTIS_DRIVER_NEED)
  VECTIS_DRIVER_OPTIONAL_FUNCTIONS(VECTIS_DRIVER_TRY)
#undef VECTIS_DRIVER_TRY
#undef VECTIS_DRIVER_NEED
  return api;
}

std::string load_compiler(const Host& host, const char* library_name, CompilerApi& compiler) {
  const Library library = open_library(host, library_name);
  if (library.handle == nullptr) return library.name + " cannot be opened: " + library.words;
  std::string missing;
  const auto look = [&](const char* symbol, auto& target) {
    if (!find(host, library, symbol, target)) missing = symbol;
  };
#define VECTIS_COMPILER_LOOK(member, type, symbol) look(symbol, compiler.member);
  VECTIS_COMPILER_FUNCTIONS(VECTIS_COMPILER_LOOK)
#undef VECTIS_COMPILER_LOOK
  return missing.empty() ? "" : library.name + " has no " + missing;
}

}  // namespace vectis::cuda_hip
