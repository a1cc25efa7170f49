#include "vectis/base/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <thread>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

std::string_view version() noexcept { return VECTIS_VERSION; }

namespace {

// What Runtime::services_ holds for each type, guarded by services_mutex_: a service, or who constructs it.
struct ServiceSlot {
  std::shared_ptr<void> service;  // null: under construction
  std::thread::id builder;
  std::vector<std::thread::id> waiting;  // may list a thread that was woken and has not run since
  std::condition_variable_any finished;  // constructed, or failed and removed
};

// Whether the service under construction in `slot` cannot be finished before `thread` goes on: its builder is that
// thread, or waits for a service whose builder does.
template <class Services>
bool waits_for(const Services& services, const ServiceSlot& slot, std::thread::id thread) {
  std::thread::id builder = slot.builder;
  for (std::size_t steps = 0; steps <= services.size(); ++steps) {
    if (builder == thread) return true;
    const auto awaited = std::find_if(services.begin(), services.end(), [&](const auto& entry) {
      const auto& one = *static_cast<const ServiceSlot*>(entry.second.get());
      return one.service == nullptr && std::find(one.waiting.begin(), one.waiting.end(), builder) != one.waiting.end();
    });
    if (awaited == services.end()) return false;
    builder = static_cast<const ServiceSlot*>(awaited->second.get())->builder;
  }
  return false;
}

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
  std::unique_lock lock(services_mutex_);
  const auto find = [&] {
    return std::find_if(services_.begin(), services_.end(), [&](const auto& entry) { return entry.first == type; });
  };
  for (auto found = find(); found != services_.end(); found = find()) {
    const auto slot = std::static_pointer_cast<ServiceSlot>(found->second);
    if (slot->service != nullptr) return slot->service.get();
    if (waits_for(services_, *slot, std::this_thread::get_id())) {
      throw Error(ErrorCode::invalid_input, "service",
                  fmt::format("the constructor of {} asked for itself; break the cycle between services", type.name()));
    }
    slot->waiting.push_back(std::this_thread::get_id());
    slot->finished.wait(lock);
    std::erase(slot->waiting, std::this_thread::get_id());
  }
  const auto slot = std::make_shared<ServiceSlot>();
  slot->builder = std::this_thread::get_id();
  services_.emplace_back(type, slot);
  lock.unlock();
  std::shared_ptr<void> made;
  try {
    made = make();  // without the lock: it may take long, and other threads may need other services meanwhile
  } catch (...) {
    lock.lock();
    services_.erase(find());
    slot->finished.notify_all();
    throw;
  }
  lock.lock();
  slot->service = std::move(made);
  // Behind the services that its constructor asked for, so that it is destroyed before them.
  std::rotate(find(), std::next(find()), services_.end());
  slot->finished.notify_all();
  return slot->service.get();
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
