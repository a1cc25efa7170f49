#include "api.hpp"

#include <array>
#include <string>

#include "status.hpp"

namespace vectis::opencl {

namespace {

constexpr const char* loader_name = "libOpenCL.so.1";

template <class Function>
void find(const Host& host, void* library, const char* symbol, Function& target) {
  void* address = host.library_symbol(library, symbol);
  if (address == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string(loader_name) + " has no " + symbol + ": it is older than OpenCL 1.2, which is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  }
  target = reinterpret_cast<Function>(address);
}

}  // namespace

Api load_api(const Host& host) {
  std::array<char, 512> words{};
  VectisMessage message{sizeof(VectisMessage), words.data(), words.size(), VECTIS_REASON_NONE};
  void* library = host.library_open(loader_name, &message);
  if (library == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string("the OpenCL loader ") + loader_name + " cannot be opened: " + words.data(),
                  VECTIS_REASON_NO_LIBRARY);
  }
  Api api;
#define VECTIS_OPENCL_FIND(name) find(host, library, "cl" #name, api.name);
  VECTIS_OPENCL_FUNCTIONS(VECTIS_OPENCL_FIND)
#undef VECTIS_OPENCL_FIND
  return api;
}

}  // namespace vectis::opencl
