// The WebGPU plug-in seen as a host sees it: the bare table, a small host around it, and nothing of Vectis.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/device/backend.h"

namespace vectis::test {

const VectisBackend& plugin();

// What a slot said.
struct Answer {
  VectisStatus status = VECTIS_OK;
  std::string text;
  VectisReason reason = VECTIS_REASON_NONE;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer);

// Calls a slot with a message of its own.
template <class Slot, class... Arguments>
Answer ask(Slot slot, Arguments... arguments) {
  std::array<char, 16384> text{};
  VectisMessage message{sizeof(VectisMessage), text.data(), text.size(), VECTIS_REASON_NONE};
  const VectisStatus status = slot(arguments..., &message);
  return {status, text.data(), message.reason};
}

// Success, or what was said instead.
testing::AssertionResult works(const Answer& answer);

// A host whose answers a test may choose before `open`. The library is that of build/venv.
class TestHost {
 public:
  TestHost();

  std::map<std::string, std::string> settings;
  std::map<std::string, void*> replaced;  // by symbol; null: the library has no such symbol

  [[nodiscard]] const VectisHost* get() const { return &host_; }

 private:
  static TestHost& self(void* state) { return *static_cast<TestHost*>(state); }

  VectisHost host_{};
};

using Bytes = std::vector<std::uint8_t>;
using Memory = std::shared_ptr<VectisMemory>;
using Kernel = std::shared_ptr<VectisKernel>;

// One device opened through the interface `api` ("vulkan", "gl"), with two streams. Throws when it cannot be.
class Rig {
 public:
  explicit Rig(const std::string& api, void (*prepare)(TestHost&) = nullptr);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  TestHost host;
  VectisBackendState* state = nullptr;
  VectisDeviceInfo info{};
  VectisContext* context = nullptr;
  VectisStream* stream = nullptr;
  VectisStream* other_stream = nullptr;

  [[nodiscard]] Memory allocate(std::uint64_t bytes) const;
  [[nodiscard]] Memory slice(const Memory& whole, std::uint64_t offset, std::uint64_t bytes) const;
  [[nodiscard]] std::shared_ptr<VectisEvent> event() const;
  [[nodiscard]] Answer compile(std::string_view wgsl, const char* name, Kernel* kernel) const;
  [[nodiscard]] Kernel kernel(std::string_view wgsl, const char* name) const;

  void upload(VectisMemory* target, const void* source, std::size_t size, std::size_t offset = 0);
  [[nodiscard]] Bytes download(VectisMemory* source, std::size_t size, std::size_t offset = 0);
  [[nodiscard]] Answer synchronize() const { return ask(plugin().stream_synchronize, stream); }
};

// A launch with buffers and then 4-byte values.
struct Launch {
  std::vector<VectisMemory*> buffers;
  std::vector<std::uint32_t> values;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::array<std::uint32_t, 3> group{64, 1, 1};
};

Answer launch(VectisStream* stream, const Kernel& kernel, const Launch& launch);

// `add` writes in[i] + term for i < count in groups of 64; `slow` runs for a while in many groups
// of 1, because llvmpipe of Mesa 22.3 lets a work-item loop 65,535 times and no more.
extern const std::string_view add_text;
extern const std::string_view slow_text;

// The interfaces this machine has a driver for, as parameters of tests.
std::vector<std::string> interfaces();

}  // namespace vectis::test
