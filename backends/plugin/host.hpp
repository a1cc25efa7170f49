// The host's services under C++ signatures: log, settings, shared libraries.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::plugin {

// A shared library that the host opened and never closes, or the reason why it could not be opened.
struct Library {
  void* handle = nullptr;  // null: the library could not be opened
  std::string name;
  std::string error;  // the loader's message when `handle` is null
};

// The host's services under C++ signatures. Thread-safe. Use only while the backend is open: the VectisHost must
// outlive this object.
class Host {
 public:
  explicit Host(const VectisHost& host) noexcept : host_(&host) {}

  // Passes one message to the host's log. `text` ends at its first NUL. Does not report failures.
  void log(VectisLogLevel level, const std::string& text) const { host_->log(host_->state, level, text.c_str()); }

  // Returns the value of the user's setting `backends.<name>.<key>`, or null when it is not set. The text is valid
  // until the backend is closed.
  [[nodiscard]] const char* setting(const char* key) const { return host_->setting(host_->state, key); }

  // Returns the integer of the setting `key`, or nothing when it is not set. Throws Failure with VECTIS_INVALID_INPUT
  // when the value is not a decimal integer from 1 to `max`. `unit` ("MiB"; may be empty) is used in that message.
  [[nodiscard]] std::optional<std::uint64_t> positive_setting(const char* key, const std::string& unit,
                                                              std::uint64_t max) const {
    const char* text = setting(key);
    if (text == nullptr) return std::nullopt;
    std::uint64_t value = 0;
    const char* end = text + std::strlen(text);
    const auto [stopped, error] = std::from_chars(text, end, value);
    if (error == std::errc() && stopped == end && value >= 1 && value <= max) return value;
    throw Failure(VECTIS_INVALID_INPUT,
                  std::string("the setting ") + key + " is '" + text + "'; it must be an integer" +
                      (unit.empty() ? "" : " of " + unit) + " from 1 to " + std::to_string(max),
                  VECTIS_REASON_OTHER);
  }

  // Opens a shared library by its path, or by a file name that the system's loader or the plug-in folders resolve.
  // When that fails, the result has a null `handle` and the loader's message in `error`. May throw std::bad_alloc.
  [[nodiscard]] Library open_library(const char* name) const {
    std::array<char, 512> error{};
    VectisMessage message{sizeof(VectisMessage), error.data(), error.size(), VECTIS_REASON_NONE};
    void* handle = host_->library_open(host_->state, name, &message);
    return {handle, name, error.data()};
  }

  // Sets `function` to the address of `symbol` and returns true, or sets it to null and returns false when the
  // library has no such symbol. Preconditions, unchecked: `library` was opened, and Function is the symbol's type.
  template <class Function>
  bool find_symbol(const Library& library, const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(host_->library_symbol(host_->state, library.handle, symbol));
    return function != nullptr;
  }

 private:
  const VectisHost* host_;
};

}  // namespace vectis::plugin
