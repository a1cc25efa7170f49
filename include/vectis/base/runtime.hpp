// The Runtime owns everything with a lifetime beyond one call: threads, settings, logger, services of upper layers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "vectis/base/executor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/log.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/settings.hpp"

namespace vectis::inline v0_1 {

// Returns the version of the library, such as "0.1.0"; valid until the process ends. Does not throw.
VECTIS_API std::string_view version() noexcept;

// Options of a Runtime; every field has a usable default. The constructor of Runtime throws InvalidInput for invalid
// `settings` or more than 1024 `threads`.
struct RuntimeOptions {
  Settings::Values settings;               // override environment and file
  LogHandler log;                          // empty: records are dropped
  LogLevel log_level = LogLevel::warning;  // the setting `debug` lowers it to LogLevel::debug
  std::shared_ptr<Executor> executor;      // empty: a thread executor with `threads` and `seed`
  std::size_t threads = 0;                 // 0: one per core
  std::uint64_t seed = 0;                  // of Executor::random()
  Os* os = nullptr;                        // null: the real operating system; must outlive the Runtime
};

// Owns what outlives one call: settings, logger, executor and the services of upper layers. A process usually has
// one, get_default(); tests make their own. Everything made with a Runtime (devices, contexts, buffers, indexes) must
// be destroyed before it. Its services throw Forked in a child process forked later. Thread-safe.
class VECTIS_API Runtime {
 public:
  // Loads the settings (Settings::load) and starts the executor. Throws InvalidInput when the settings are invalid,
  // the configuration file cannot be read, or more than 1024 threads are requested.
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Returns the Runtime that calls use unless they are given another. The first call makes it with default options;
  // it is never destroyed. The first call throws InvalidInput for invalid settings in the environment or the
  // configuration file; the next call then tries again.
  static Runtime& get_default();

  // Returns the executor of this Runtime, valid as long as the Runtime. Does not throw.
  [[nodiscard]] Executor& executor() const noexcept { return *executor_; }
  // Returns the settings loaded by the constructor, valid as long as the Runtime. Does not throw.
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  // Returns the logger of this Runtime, valid as long as the Runtime. Does not throw.
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }
  // Returns the operating system interface that the options named, else real_os(). Does not throw.
  [[nodiscard]] Os& os() const noexcept { return *os_; }

  // Passes log records at or above `min_level` to `handler`, which must be thread-safe and whose exceptions are
  // ignored; an empty `handler` drops every record. The setting `debug` lowers `min_level` to LogLevel::debug.
  // Warnings about the settings are logged again to the new handler. The default Runtime gets a handler by:
  //
  //   vectis::Runtime::get_default().set_log_handler([](const vectis::LogRecord& record) {
  //     std::cerr << name(record.level) << ' ' << record.component << ": " << record.message << '\n';
  //   });
  void set_log_handler(LogHandler handler, LogLevel min_level = LogLevel::warning);

  // Throws Forked, naming `op`, when this process was forked after the Runtime was made: threads and devices stay in
  // the parent. Otherwise does nothing.
  void check_fork(std::string_view op) const;

  // Returns the single T of this Runtime: constructed as T(*this) at first use, destroyed with the Runtime in reverse
  // order of construction. Other threads that request T meanwhile wait. Throws Forked after a fork, InvalidInput when
  // T's constructor requests T itself, and what T's constructor throws; the next call then tries again.
  template <class T>
  T& service() {
    return *static_cast<T*>(
        find_service(typeid(T), [this] { return std::static_pointer_cast<void>(std::make_shared<T>(*this)); }));
  }

 private:
  using Maker = std::function<std::shared_ptr<void>()>;
  void* find_service(const std::type_info& type, const Maker& make);
  void log_settings_warnings() const;

  Os* os_;
  std::uint64_t fork_generation_;
  Settings settings_;
  Logger logger_;
  std::shared_ptr<Executor> executor_;
  std::recursive_mutex services_mutex_;  // not held while a service is constructed; guards services_
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> services_;
};

// Returns the folder for data that can be regenerated (compiled kernels, measurements), which may not exist yet: the
// setting `cache_path`, else $XDG_CACHE_HOME/vectis, else ~/.cache/vectis. Returns an empty string, and nothing is
// cached on disk, when the setting is `off` or neither variable is set.
VECTIS_API std::string cache_folder(const Runtime& runtime);

}  // namespace vectis::inline v0_1
