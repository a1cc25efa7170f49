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

// The version of the library: "0.1.0".
VECTIS_API std::string_view version() noexcept;

// Options of a Runtime. Every field has a usable default.
struct RuntimeOptions {
  Settings::Values settings;               // override environment and file
  LogHandler log;                          // empty: records are dropped
  LogLevel log_level = LogLevel::warning;  // the setting `debug` lowers it to LogLevel::debug
  std::shared_ptr<Executor> executor;      // empty: a thread executor with `threads` and `seed`
  std::size_t threads = 0;                 // 0: one per core
  std::uint64_t seed = 0;                  // of Executor::random()
  Os* os = nullptr;                        // null: the real operating system; must outlive the Runtime
};

// Thread-safe. A process usually has one, the default; tests and simulations make their own. Everything made with a
// Runtime (devices, contexts, buffers, indexes) must be destroyed before it.
class VECTIS_API Runtime {
 public:
  // Loads the settings and starts the executor. Throws InvalidInput for invalid settings (see Settings::load).
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The Runtime that calls use unless they are given another. Made at first use with default options, and never
  // destroyed, so that the order of static destruction does not matter. Its first use throws as the constructor does.
  static Runtime& get_default();

  [[nodiscard]] Executor& executor() const noexcept { return *executor_; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }
  [[nodiscard]] Os& os() const noexcept { return *os_; }

  // Replaces the log handler; this is how the default Runtime gets one:
  //
  //   vectis::Runtime::get_default().set_log_handler([](const vectis::LogRecord& record) {
  //     std::cerr << name(record.level) << ' ' << record.component << ": " << record.message << '\n';
  //   });
  //
  // An empty handler drops every record. The setting `debug` lowers `min_level` to LogLevel::debug. Warnings about the
  // settings themselves are logged again to the new handler.
  void set_log_handler(LogHandler handler, LogLevel min_level = LogLevel::warning);

  // Throws Forked when this process was forked after the Runtime was made: threads and devices stay in the parent.
  void check_fork(std::string_view op) const;

  // The single T of this Runtime: constructed as T(*this) at first use, destroyed with the Runtime in reverse order of
  // construction. Layers above keep their state here without `base` depending on them. Throws Forked after a fork,
  // InvalidInput when T's constructor asks for T itself, and what T's constructor throws.
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
  std::recursive_mutex services_mutex_;  // recursive: constructing a service may ask for another
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> services_;
};

// The folder for data that can be regenerated (compiled kernels, measurements): the setting `cache_path`, else
// $XDG_CACHE_HOME/vectis, else ~/.cache/vectis. Empty when the setting is `off` or no home folder is known; then
// nothing is cached on disk. The folder may not exist yet.
VECTIS_API std::string cache_folder(const Runtime& runtime);

}  // namespace vectis::inline v0_1
