// The logging hook. Vectis never prints: it hands log records to the handler of its Runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Severity of a record, in increasing order.
enum class LogLevel : std::uint8_t { debug, info, warning, error };

// "warning"; "unknown" for a value that is not in the enum.
VECTIS_API std::string_view name(LogLevel level) noexcept;

// One log message.
struct LogRecord {
  LogLevel level;
  std::string_view component;  // the layer or backend that logs: "device", "opencl"
  std::string_view message;
};

// Called by any thread, also by several at once. The views of the record are valid during the call only. Exceptions
// that the handler throws are ignored.
using LogHandler = std::function<void(const LogRecord&)>;

// Passes records at or above a level to one handler. Thread-safe.
class VECTIS_API Logger {
 public:
  Logger() = default;  // drops every record
  // As set_handler.
  Logger(LogHandler handler, LogLevel min_level) { set_handler(std::move(handler), min_level); }
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // Replaces the handler; an empty one drops every record. A call of the previous handler may still be running in
  // another thread when set_handler returns.
  void set_handler(LogHandler handler, LogLevel min_level);

  // True when a record of this level reaches the handler. Check it before building an expensive message.
  [[nodiscard]] bool wants(LogLevel level) const noexcept {
    return static_cast<int>(level) >= min_level_.load(std::memory_order_relaxed);
  }

  // Never throws, also when the handler does.
  void log(LogLevel level, std::string_view component, std::string_view message) const noexcept;

 private:
  static constexpr int nothing = 256;  // above every level

  std::atomic<int> min_level_{nothing};
  mutable std::mutex mutex_;
  std::shared_ptr<const LogHandler> handler_;  // guarded by mutex_
};

}  // namespace vectis::inline v0_1
