#include "vectis/base/log.hpp"

#include <array>
#include <utility>

namespace vectis::inline v0_1 {

std::string_view name(LogLevel level) noexcept {
  constexpr std::array<std::string_view, 4> names = {"debug", "info", "warning", "error"};
  const auto index = static_cast<std::size_t>(level);
  return index < names.size() ? names[index] : "unknown";
}

void Logger::set_handler(LogHandler handler, LogLevel min_level) {
  const bool empty = handler == nullptr;
  auto shared = std::make_shared<const LogHandler>(std::move(handler));
  const std::lock_guard lock(mutex_);
  handler_ = std::move(shared);
  min_level_.store(empty ? nothing : static_cast<int>(min_level), std::memory_order_relaxed);
}

void Logger::log(LogLevel level, std::string_view component, std::string_view message) const noexcept {
  if (!wants(level)) return;
  std::shared_ptr<const LogHandler> handler;
  {
    const std::lock_guard lock(mutex_);
    handler = handler_;
  }
  try {
    if (*handler != nullptr) (*handler)(LogRecord{level, component, message});
  } catch (...) {  // NOLINT(bugprone-empty-catch): a failing handler must not fail the work that logs
  }
}

}  // namespace vectis::inline v0_1
