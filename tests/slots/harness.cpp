#include "tests/slots/harness.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <stdexcept>

namespace vectis::test {

const VectisBackend& plugin() {
  static const VectisBackend* table = [] {
    const char* other = std::getenv("VECTIS_PLUGIN_UNDER_TEST");  // a mutant of it
    void* library = dlopen(other == nullptr ? VECTIS_PLUGIN_UNDER_TEST : other, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<VectisBackendEntry>(dlsym(library, VECTIS_ENTRY_NAME))();
  }();
  return *table;
}

std::ostream& operator<<(std::ostream& out, const SlotResult& result) {
  return out << "status " << result.status << ", reason " << result.reason << ": " << result.text;
}

testing::AssertionResult succeeded(const SlotResult& result) {
  if (result.status == VECTIS_OK) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result;
}

TestHost::TestHost() {
  host_.size = sizeof(VectisHost);
  host_.state = this;
  host_.log = [](void* state, VectisLogLevel, const char* text) {
    const std::lock_guard lock(self(state).mutex_);
    self(state).logged_.emplace_back(text);
  };
  host_.setting = [](void* state, const char* key) -> const char* {
    const auto found = self(state).settings.find(key);
    return found == self(state).settings.end() ? nullptr : found->second.c_str();
  };
  host_.library_open = [](void* state, const char* name, VectisMessage* message) -> void* {
    const TestHost& host = self(state);
    const auto contains = [name](const std::string& folder) { return std::string(name).starts_with(folder); };
    const bool can_open =
        host.has_library && (host.folders.empty() || std::any_of(host.folders.begin(), host.folders.end(), contains));
    void* library = can_open ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library == nullptr) std::string("no such file").copy(message->text, message->capacity - 1);
    return library;
  };
  host_.library_symbol = [](void* state, void* library, const char* symbol) -> void* {
    const std::lock_guard lock(self(state).mutex_);
    self(state).symbols_.insert(symbol);
    const auto found = self(state).replaced.find(symbol);
    return found == self(state).replaced.end() ? dlsym(library, symbol) : found->second;
  };
  host_.find_backend = [](void*, const char*, const VectisBackend**, VectisBackendState**,
                          VectisMessage*) -> VectisStatus { return VECTIS_UNSUPPORTED; };
}

std::vector<std::string> TestHost::logged() {
  const std::lock_guard lock(mutex_);
  return logged_;
}

std::set<std::string> TestHost::symbols() {
  const std::lock_guard lock(mutex_);
  return symbols_;
}

SlotResult try_open(TestHost& host) {
  VectisBackendState* state = nullptr;
  SlotResult result = call_slot(plugin().open, host.get(), &state);
  if (state != nullptr) plugin().close(state);
  EXPECT_EQ(state != nullptr, result.status == VECTIS_OK) << result;
  return result;
}

void expect_open_failure(const SlotResult& result, VectisReason reason, const std::string& words) {
  EXPECT_EQ(result.status, VECTIS_BACKEND_CREATION) << result;
  EXPECT_EQ(result.reason, reason) << result;
  EXPECT_NE(result.text.find(words), std::string::npos) << result << "\nmust contain: " << words;
}

}  // namespace vectis::test
