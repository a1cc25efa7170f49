// The owner of everything that lives on: threads, settings, logger, and the services of the layers above.
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

struct RuntimeOptions {
  Settings::Values settings;               // over environment and file
  LogHandler log;                          // empty: records are dropped
  LogLevel log_level = LogLevel::warning;  // the setting `debug` makes it LogLevel::debug
  std::shared_ptr<Executor> executor;      // empty: real threads
  std::size_t threads = 0;                 // of the real executor; 0: one per core
  std::uint64_t seed = 0;
  Os* os = nullptr;  // null: the real one
};

// Thread-safe. A process usually has one, the default; tests and simulations make their own. What a Runtime gave out
// (devices, contexts, arrays) must not outlive it.
class VECTIS_API Runtime {
 public:
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Made at first use and never destroyed, so that no order of static destruction can hurt.
  static Runtime& get_default();

  [[nodiscard]] Executor& executor() const noexcept { return *executor_; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const Logger& logger() const noexcept { return logger_; }
  [[nodiscard]] Os& os() const noexcept { return *os_; }

  // Throws Forked when this process is a child forked after the Runtime was made: its threads and devices stayed
  // behind.
  void check_fork(std::string_view op) const;

  // The one T of this Runtime, made as T(*this) at first use and destroyed with it, last made first. This is how a
  // layer above keeps its state here without `base` knowing the layer.
  template <class T>
  T& service() {
    return *static_cast<T*>(
        find_service(typeid(T), [this] { return std::static_pointer_cast<void>(std::make_shared<T>(*this)); }));
  }

 private:
  using Maker = std::function<std::shared_ptr<void>()>;
  void* find_service(const std::type_info& type, const Maker& make);

  Os* os_;
  std::uint64_t fork_generation_;
  Settings settings_;
  Logger logger_;
  std::shared_ptr<Executor> executor_;
  std::recursive_mutex services_mutex_;  // making one service may ask for another
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> services_;
};

// The folder for what can be made again (compiled kernels, measurements): the setting `cache_path`, else the user's
// own. Empty when it is `off`, or when the environment names no home; then nothing is kept on disk. May not exist yet.
VECTIS_API std::string cache_folder(const Runtime& runtime);

}  // namespace vectis::inline v0_1
