// A plug-in as a host sees it: the bare table and a small host around it, without Vectis.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "vectis/device/backend.h"

namespace vectis::test {

// The table of the plug-in under test: the file VECTIS_PLUGIN_UNDER_TEST, a definition of the build that the
// environment overrides.
const VectisBackend& plugin();

// The settings every TestHost begins with; defined by each test program.
std::map<std::string, std::string> default_settings();

// What a slot returned and wrote.
struct SlotResult {
  VectisStatus status = VECTIS_OK;
  std::string text;
  VectisReason reason = VECTIS_REASON_NONE;
};

std::ostream& operator<<(std::ostream& out, const SlotResult& result);

// Calls a slot with a message of its own.
template <class Slot, class... Arguments>
SlotResult call_slot(Slot slot, Arguments... arguments) {
  std::array<char, 16384> text{};
  VectisMessage message{sizeof(VectisMessage), text.data(), text.size(), VECTIS_REASON_NONE};
  const VectisStatus status = slot(arguments..., &message);
  return {status, text.data(), message.reason};
}

// For EXPECT_TRUE: success, or a failure that prints the result.
testing::AssertionResult succeeded(const SlotResult& result);

// A host whose services a test may change before `open`. Thread-safe for the plug-in.
class TestHost {
 public:
  TestHost();

  std::map<std::string, std::string> settings = default_settings();
  bool has_library = true;                // false: no library can be opened
  std::vector<std::string> folders;       // not empty: only libraries whose path begins with one can be opened
  std::map<std::string, void*> replaced;  // by symbol; null: the library has no such symbol

  [[nodiscard]] const VectisHost* get() const { return &host_; }
  [[nodiscard]] std::vector<std::string> logged();
  [[nodiscard]] std::set<std::string> symbols();  // all that were looked up

 private:
  static TestHost& self(void* state) { return *static_cast<TestHost*>(state); }

  VectisHost host_{};
  std::mutex mutex_;
  std::vector<std::string> logged_;
  std::set<std::string> symbols_;
};

// Opens the plug-in with the services of `host`, and closes it if that succeeds.
SlotResult try_open(TestHost& host);

// Expects the result of an `open` that failed with VECTIS_BACKEND_CREATION, this reason, and a text with `words` in it.
void expect_open_failure(const SlotResult& result, VectisReason reason, const std::string& words);

}  // namespace vectis::test
