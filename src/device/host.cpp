#include "device/host.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/plugin.hpp"

namespace vectis::inline v0_1::detail {

void write_message(VectisMessage* message, const std::string& text) {
  if (message == nullptr || message->text == nullptr || message->capacity == 0) return;
  const std::size_t length = std::min(text.size(), message->capacity - 1);
  std::memcpy(message->text, text.data(), length);
  message->text[length] = '\0';
}

HostServices::HostServices(Runtime& runtime, std::string backend, Finder finder)
    : runtime_(runtime), backend_(std::move(backend)), finder_(std::move(finder)) {
  table_.size = sizeof(VectisHost);
  table_.state = this;
  table_.log = &HostServices::log;
  table_.setting = &HostServices::setting;
  table_.library_open = &HostServices::library_open;
  table_.library_symbol = &HostServices::library_symbol;
  table_.find_backend = &HostServices::find_backend;
  table_.parallel_for = &HostServices::parallel_for;
  table_.thread_count = &HostServices::thread_count;
}

void HostServices::log(void* state, VectisLogLevel level, const char* text) {
  auto& self = *static_cast<HostServices*>(state);
  const auto clamped = std::clamp<VectisLogLevel>(level, VECTIS_LOG_DEBUG, VECTIS_LOG_ERROR);
  self.runtime_.logger().log(static_cast<LogLevel>(clamped), self.backend_, text == nullptr ? "" : text);
}

const char* HostServices::setting(void* state, const char* key) {
  auto& self = *static_cast<HostServices*>(state);
  auto value = self.runtime_.settings().backend(self.backend_, key);
  if (!value) return nullptr;
  const std::lock_guard lock(self.mutex_);
  return self.settings_given_.try_emplace(key, *std::move(value)).first->second.c_str();
}

void* HostServices::library_open(void* state, const char* name, VectisMessage* message) {
  auto& self = *static_cast<HostServices*>(state);
  const Os& os = self.runtime_.os();
  const OpenedLibrary library = os.open_library(name);
  if (library.handle != nullptr) return library.handle;
  if (std::strchr(name, '/') == nullptr) {
    for (const std::string& directory : plugin_directories(os, self.runtime_.settings())) {
      const OpenedLibrary beside = os.open_library(directory + "/" + name);
      if (beside.handle != nullptr) return beside.handle;
    }
  }
  write_message(message, library.error);
  return nullptr;
}

void* HostServices::library_symbol(void* state, void* library, const char* symbol) {
  auto& self = *static_cast<HostServices*>(state);
  return self.runtime_.os().symbol(library, symbol);
}

VectisStatus HostServices::find_backend(void* state, const char* name, const VectisBackend** table,
                                        VectisBackendState** opened, VectisMessage* message) {
  auto& self = *static_cast<HostServices*>(state);
  if (self.finder_ && self.finder_(name, table, opened)) return VECTIS_OK;
  write_message(message, "backend '" + std::string(name) + "' is not open, so it cannot be wrapped");
  return VECTIS_UNSUPPORTED;
}

void HostServices::parallel_for(void* state, std::uint64_t count, std::uint64_t grain,
                                void (*body)(void* argument, std::uint64_t begin, std::uint64_t end), void* argument) {
  auto& self = *static_cast<HostServices*>(state);
  self.runtime_.executor().parallel_for(count, grain,
                                        [&](std::size_t begin, std::size_t end) { body(argument, begin, end); });
}

std::uint32_t HostServices::thread_count(void* state) {
  return static_cast<std::uint32_t>(static_cast<HostServices*>(state)->runtime_.executor().concurrency());
}

}  // namespace vectis::inline v0_1::detail
