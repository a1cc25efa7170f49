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

// The severity of a log record, in increasing order. A Logger drops records below its minimum level.
enum class LogLevel : std::uint8_t { debug, info, warning, error };

// Returns the name of a level, such as "warning"; "unknown" for a value that is not in the enum. Does not throw.
VECTIS_API std::string_view name(LogLevel level) noexcept;

// One log message, as a LogHandler gets it. The views are valid during the handler's call only.
struct LogRecord {
  LogLevel level;
  std::string_view component;  // the layer or backend that logs: "device", "opencl"
  std::string_view message;
};

// Receives log records. Must be thread-safe: any thread may call it, also several at once. The views of the record
// are valid during the call only. Exceptions that the handler throws are ignored.
using LogHandler = std::function<void(const LogRecord&)>;

// Passes records at or above a minimum level to one handler; without a handler it drops every record. Logging never
// throws, also when the handler does. Thread-safe.
class VECTIS_API Logger {
 public:
  Logger() = default;  // drops every record
  // Makes a logger that passes records at or above `min_level` to `handler`; an empty `handler` drops every record.
  // `handler` must be thread-safe.
  Logger(LogHandler handler, LogLevel min_level) { set_handler(std::move(handler), min_level); }
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // Passes records at or above `min_level` to `handler` from now on; an empty `handler` drops every record. `handler`
  // must be thread-safe. Another thread may still be inside the previous handler when the call returns.
  void set_handler(LogHandler handler, LogLevel min_level);

  // Returns true when a record of this level reaches the handler; false below the minimum level or without a handler.
  // Check it before building an expensive message. Does not throw.
  [[nodiscard]] bool wants(LogLevel level) const noexcept {
    return static_cast<int>(level) >= min_level_.load(std::memory_order_relaxed);
  }

  // Calls the handler with a record, unless `level` is below the minimum or there is no handler. `component` names
  // the layer or backend that logs. Never throws: exceptions of the handler are ignored.
  void log(LogLevel level, std::string_view component, std::string_view message) const noexcept;

 private:
  static constexpr int nothing = 256;  // above every level

  std::atomic<int> min_level_{nothing};
  mutable std::mutex mutex_;
  std::shared_ptr<const LogHandler> handler_;  // guarded by mutex_
};

}  // namespace vectis::inline v0_1
