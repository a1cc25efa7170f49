// The VectisHost table of a backend: the Runtime's logger, settings, libraries and threads as C functions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "vectis/base/runtime.hpp"
#include "vectis/device/backend.h"

namespace vectis::inline v0_1::detail {

// Makes the VectisHost table of one backend: the Runtime's logger, settings, libraries and threads as C functions.
// Must live as long as the backend is open, and the Runtime longer. Thread-safe.
class HostServices {
 public:
  // Finds the open backend `name`, for a backend that wraps it, and sets `table` and `state`; returns false, and sets
  // nothing, when that backend is not open.
  using Finder = std::function<bool(const std::string& name, const VectisBackend** table, VectisBackendState** state)>;

  // Fills the table for the backend named `backend`. `runtime` must outlive this object. An empty `finder` finds no
  // backend: the host's find_backend then returns VECTIS_UNSUPPORTED.
  HostServices(Runtime& runtime, std::string backend, Finder finder);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // Returns the table to pass to the backend's `open`, valid as long as this object. Does not throw.
  [[nodiscard]] const VectisHost* table() const noexcept { return &table_; }

 private:
  // The services as the C boundary needs them: no exception leaves them.
  static void log(void* state, VectisLogLevel level, const char* text) noexcept;
  static const char* setting(void* state, const char* key) noexcept;
  static void* library_open(void* state, const char* name, VectisMessage* message) noexcept;
  static void* library_symbol(void* state, void* library, const char* symbol) noexcept;
  static VectisStatus find_backend(void* state, const char* name, const VectisBackend** table,
                                   VectisBackendState** opened, VectisMessage* message) noexcept;
  static void parallel_for(void* state, std::uint64_t count, std::uint64_t grain,
                           void (*body)(void* argument, std::uint64_t begin, std::uint64_t end),
                           void* argument) noexcept;
  static std::uint32_t thread_count(void* state) noexcept;

  Runtime& runtime_;
  std::string backend_;
  Finder finder_;
  VectisHost table_{};
  std::mutex mutex_;
  std::map<std::string, std::string> settings_given_;  // owns the strings returned by setting(), valid until close
};

// Copies `text` into `message`, truncated to its capacity and NUL-terminated. Does nothing when `message` or its
// buffer is null or its capacity is 0. Does not throw.
void write_message(VectisMessage* message, std::string_view text) noexcept;

}  // namespace vectis::inline v0_1::detail
