// The logging hook: Vectis never prints, it tells the handler of its Runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

VECTIS_API std::string_view name(LogLevel level) noexcept;

struct LogRecord {
  LogLevel level;
  std::string_view component;  // the layer or backend that speaks: "device", "opencl"
  std::string_view message;
};

// Called by any thread, several at once; the views live only during the call. What it throws is swallowed.
using LogHandler = std::function<void(const LogRecord&)>;

// Sends records at or above its level to one handler. Immutable, thread-safe.
class VECTIS_API Logger {
 public:
  Logger() = default;  // drops everything
  Logger(LogHandler handler, LogLevel min_level);

  // True when a record of this level would reach the handler; ask before building an expensive message.
  [[nodiscard]] bool wants(LogLevel level) const noexcept { return handler_ != nullptr && level >= min_level_; }

  void log(LogLevel level, std::string_view component, std::string_view message) const noexcept;

 private:
  LogHandler handler_;
  LogLevel min_level_ = LogLevel::warning;
};

}  // namespace vectis::inline v0_1
