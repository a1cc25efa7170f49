// A Runtime that records its log, and helpers for tests of stores.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/store_model.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/store.hpp"

namespace vectis::test {

using Bytes = std::vector<std::byte>;

class LoggedRuntime {
 public:
  explicit LoggedRuntime(Settings::Values settings = {}) : runtime_(options(std::move(settings))) {}

  Runtime& operator*() { return runtime_; }
  DeviceRegistry& registry() { return runtime_.service<DeviceRegistry>(); }
  // Returns the recorded lines, such as "error store: ...", and clears them.
  std::vector<std::string> take_log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  RuntimeOptions options(Settings::Values settings) {
    settings.try_emplace("config", "");
    RuntimeOptions made;
    made.settings = std::move(settings);
    made.log_level = LogLevel::info;
    made.log = [this](const LogRecord& record) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(std::string(name(record.level)) + " " + std::string(record.component) + ": " +
                       std::string(record.message));
    };
    return made;
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  Runtime runtime_;
};

// Folder of the real plug-ins, without `failing`.
inline std::string computing_backends() {
  const std::string all = std::getenv("VECTIS_BACKEND_PATH");
  return all.substr(0, all.find(':'));
}

inline Bytes saved(const VectorStore& store) {
  MemoryWriter writer;
  store.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

}  // namespace vectis::test
