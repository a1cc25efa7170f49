#if VECTIS_ONEDNN
#include "backends/cpu/onednn_library.hpp"

#include <string>
#include <string_view>

namespace vectis::cpu {

namespace {

// Looks all functions up. Those of OpenMP are looked up through oneDNN, so that they belong to its run time.
bool load(const plugin::Host& host, const plugin::Library& opened, OneDnnLibrary& library) {
  const auto find = [&](auto& function, const char* symbol) { return host.find_symbol(opened, symbol, function); };
  bool has_all = find(library.omp_set_num_threads, "omp_set_num_threads") &&
                 find(library.omp_get_max_threads, "omp_get_max_threads");
#define X(function) has_all = has_all && find(library.function, #function);
  VECTIS_ONEDNN_FUNCTIONS(X)
#undef X
  return has_all;
}

}  // namespace

std::unique_ptr<OneDnnLibrary> OneDnnLibrary::open(const VectisHost* host) {
  const std::string name = "libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR);
  const plugin::Host services(*host);
  const char* setting = services.setting("onednn");
  const bool is_off = setting != nullptr && std::string_view(setting) == "off";
  const plugin::Library opened = is_off ? plugin::Library{} : services.open_library(name.c_str());
  auto library = std::make_unique<OneDnnLibrary>();
  if (opened.handle != nullptr && load(services, opened, *library)) return library;
  std::string reason = opened.handle == nullptr ? opened.error : "it lacks functions of version 2.6";
  if (is_off) reason = "switched off by backends.cpu.onednn";
  services.log(VECTIS_LOG_INFO, "matrix products and convolutions run without oneDNN: " + name + ": " + reason);
  return nullptr;
}

std::mutex& onednn_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace vectis::cpu
#endif
