#include "vectis/base/log.hpp"

#include <utility>

namespace vectis::inline v0_1 {

std::string_view name(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

Logger::Logger(LogHandler handler, LogLevel min_level) : handler_(std::move(handler)), min_level_(min_level) {}

void Logger::log(LogLevel level, std::string_view component, std::string_view message) const noexcept {
  if (!wants(level)) return;
  try {
    handler_(LogRecord{level, component, message});
  } catch (...) {  // NOLINT(bugprone-empty-catch): a broken handler must not break the work it was told about
  }
}

}  // namespace vectis::inline v0_1
