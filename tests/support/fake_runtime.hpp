// A Runtime on a fake operating system.
//
//   FakeOs os;
//   Runtime runtime(options_on(os));
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_os.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::test {

// One thread. `os` must outlive the Runtime.
inline RuntimeOptions options_on(FakeOs& os) {
  RuntimeOptions options;
  options.os = &os;
  options.threads = 1;
  return options;
}

// A test whose Runtime is made at its first use, so that the test can prepare `os` before.
class FakeRuntimeTest : public testing::Test {
 protected:
  Runtime& runtime() {
    if (!runtime_) {
      RuntimeOptions options = options_on(os);
      options.log = [this](const LogRecord& record) {
        if (record.level >= LogLevel::warning) warnings.emplace_back(record.message);
      };
      runtime_.emplace(std::move(options));
    }
    return *runtime_;
  }

  FakeOs os;
  std::vector<std::string> warnings;  // messages that the Runtime logged

 private:
  std::optional<Runtime> runtime_;
};

}  // namespace vectis::test
