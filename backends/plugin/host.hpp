// The host's services under C++ signatures.
#pragma once

#include <string>

#include "vectis/device/backend.h"

namespace vectis::plugin {

class Host {
 public:
  explicit Host(const VectisHost& host) noexcept : host_(&host) {}

  void log(VectisLogLevel level, const std::string& text) const { host_->log(host_->state, level, text.c_str()); }
  [[nodiscard]] const char* setting(const char* key) const { return host_->setting(host_->state, key); }
  [[nodiscard]] void* library_open(const char* name, VectisMessage* message) const {
    return host_->library_open(host_->state, name, message);
  }
  [[nodiscard]] void* library_symbol(void* library, const char* symbol) const {
    return host_->library_symbol(host_->state, library, symbol);
  }

 private:
  const VectisHost* host_;
};

}  // namespace vectis::plugin
