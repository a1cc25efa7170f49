#include "vectis/base/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::string_view version() noexcept { return VECTIS_VERSION; }

namespace {

std::shared_ptr<Executor> executor_for(RuntimeOptions& options) {
  if (options.executor != nullptr) return std::move(options.executor);
  return make_thread_executor({.threads = options.threads, .seed = options.seed});
}

}  // namespace

Runtime::Runtime(RuntimeOptions options)
    : os_(options.os != nullptr ? options.os : &real_os()),
      fork_generation_(vectis::fork_generation()),
      settings_(Settings::load(*os_, options.settings)),
      logger_(std::move(options.log), settings_.flag("debug") ? LogLevel::debug : options.log_level),
      executor_(executor_for(options)) {
  log_settings_warnings();
}

Runtime::~Runtime() {
  while (!services_.empty()) {
    const auto last = std::move(services_.back());  // removed first: its destructor may ask for other services
    services_.pop_back();
  }
}

Runtime& Runtime::get_default() {
  static auto* const runtime = new Runtime();
  return *runtime;
}

void Runtime::set_log_handler(LogHandler handler, LogLevel min_level) {
  logger_.set_handler(std::move(handler), settings_.flag("debug") ? LogLevel::debug : min_level);
  log_settings_warnings();
}

void Runtime::log_settings_warnings() const {
  for (const std::string& warning : settings_.warnings()) logger_.log(LogLevel::warning, "settings", warning);
}

void Runtime::check_fork(std::string_view op) const {
  if (vectis::fork_generation() == fork_generation_) return;
  throw Error(
      ErrorCode::forked, op,
      "this process was forked after its Runtime was made, and threads and devices stay in the parent; create a "
      "new Runtime in the child");
}

void* Runtime::find_service(const std::type_info& type, const Maker& make) {
  check_fork("service");
  const std::lock_guard lock(services_mutex_);
  const auto find = [&] {
    return std::find_if(services_.begin(), services_.end(), [&](auto& service) { return service.first == type; });
  };
  if (const auto found = find(); found != services_.end()) {
    if (found->second != nullptr) return found->second.get();
    throw Error(ErrorCode::invalid_input, "service",
                fmt::format("the constructor of {} asked for itself; break the cycle between services", type.name()));
  }
  // A null entry marks a service under construction. The finished one moves to the end, behind the services it asked
  // for, so that it is destroyed before them.
  services_.emplace_back(type, nullptr);
  std::shared_ptr<void> made;
  try {
    made = make();
  } catch (...) {
    services_.erase(find());
    throw;
  }
  services_.erase(find());
  return services_.emplace_back(type, std::move(made)).second.get();
}

std::string cache_folder(const Runtime& runtime) {
  std::string set = runtime.settings().text("cache_path");
  if (set == "off") return {};
  if (!set.empty()) return set;
  const auto below = [&](const char* variable, const char* rest) {
    const auto value = runtime.os().environment(variable);
    return value && !value->empty() ? *value + rest : std::string();
  };
  const std::string named = below("XDG_CACHE_HOME", "/vectis");
  return named.empty() ? below("HOME", "/.cache/vectis") : named;
}

}  // namespace vectis::inline v0_1
