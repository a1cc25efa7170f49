#include "device/host.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "device/backend_names.hpp"
#include "device/plugin.hpp"

namespace vectis::inline v0_1::detail {

void write_message(VectisMessage* message, std::string_view text) noexcept {
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

void HostServices::log(void* state, VectisLogLevel level, const char* text) noexcept {
  auto& self = *static_cast<HostServices*>(state);
  const auto clamped = std::clamp<VectisLogLevel>(level, VECTIS_LOG_DEBUG, VECTIS_LOG_ERROR);
  self.runtime_.logger().log(static_cast<LogLevel>(clamped), self.backend_, text == nullptr ? "" : text);
}

const char* HostServices::setting(void* state, const char* key) noexcept {
  auto& self = *static_cast<HostServices*>(state);
  try {
    auto value = self.runtime_.settings().backend(self.backend_, key);
    if (!value && self.backend_ == plugin_name("rocm")) value = self.runtime_.settings().backend("rocm", key);
    if (!value) return nullptr;
    const std::lock_guard lock(self.mutex_);
    return self.settings_given_.try_emplace(key, *std::move(value)).first->second.c_str();
  } catch (const std::exception& error) {
    self.runtime_.logger().log(LogLevel::error, self.backend_, error.what());
    return nullptr;
  }
}

void* HostServices::library_open(void* state, const char* name, VectisMessage* message) noexcept {
  auto& self = *static_cast<HostServices*>(state);
  try {
    const OpenedLibrary library = open_library(self.runtime_.os(), self.runtime_.settings(), name);
    if (library.handle != nullptr) return library.handle;
    write_message(message, library.error);
  } catch (const std::exception& error) {
    write_message(message, error.what());
  }
  return nullptr;
}

void* HostServices::library_symbol(void* state, void* library, const char* symbol) noexcept {
  auto& self = *static_cast<HostServices*>(state);
  try {
    return self.runtime_.os().symbol(library, symbol);
  } catch (const std::exception& error) {
    self.runtime_.logger().log(LogLevel::error, self.backend_, error.what());
    return nullptr;
  }
}

VectisStatus HostServices::find_backend(void* state, const char* name, const VectisBackend** table,
                                        VectisBackendState** opened, VectisMessage* message) noexcept {
  auto& self = *static_cast<HostServices*>(state);
  try {
    if (self.finder_ && self.finder_(name, table, opened)) return VECTIS_OK;
    write_message(message, "backend '" + std::string(name) + "' is not open, so it cannot be wrapped");
    return VECTIS_UNSUPPORTED;
  } catch (const std::bad_alloc&) {
    write_message(message, "the host is out of memory for the search of a backend");
    return VECTIS_ALLOCATION;
  } catch (const std::exception& error) {
    write_message(message, error.what());
    return VECTIS_DRIVER_FAILURE;
  }
}

// `body` must not throw, and the service has no status to return. An executor that fails before its first range, as
// without memory for its tasks, is replaced by the calling thread; one that fails later has run an unknown part, which
// nobody can complete: the process ends.
void HostServices::parallel_for(void* state, std::uint64_t count, std::uint64_t grain,
                                void (*body)(void* argument, std::uint64_t begin, std::uint64_t end),
                                void* argument) noexcept {
  auto& self = *static_cast<HostServices*>(state);
  std::atomic<bool> started{false};
  try {
    self.runtime_.executor().parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
      started.store(true, std::memory_order_relaxed);
      body(argument, begin, end);
    });
  } catch (...) {
    if (started.load(std::memory_order_relaxed)) std::terminate();
    if (count > 0) body(argument, 0, count);
  }
}

std::uint32_t HostServices::thread_count(void* state) noexcept {
  return static_cast<std::uint32_t>(static_cast<HostServices*>(state)->runtime_.executor().concurrency());
}

}  // namespace vectis::inline v0_1::detail
