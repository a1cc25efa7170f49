// A plug-in seen as a host sees it: the bare table, a small host around it, and nothing of Vectis. The program of the
// rig and the settings are the backend's own: program_text.cpp, and one in tests/cuda.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/device/backend.h"

namespace vectis::test {

// The table of the plug-in under test.
const VectisBackend& plugin();

// The program of Rig: `mirror` reverses each work-group's floats, times a factor, plus the group's number; `place`
// writes where each work-item is; `slow` runs for a while.
extern const std::string_view program_text;
extern const char* const program_dialect;
// Settings every host begins with.
std::map<std::string, std::string> usual_settings();

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

// A host whose answers a test may choose before `open`.
class TestHost {
 public:
  TestHost();

  std::map<std::string, std::string> settings = usual_settings();
  bool has_library = true;
  std::map<std::string, void*> replaced;  // by symbol; null: the library has no such symbol

  [[nodiscard]] const VectisHost* get() const { return &host_; }
  [[nodiscard]] std::vector<std::string> logged();
  [[nodiscard]] std::set<std::string> symbols();  // all that were asked for

 private:
  static TestHost& self(void* state) { return *static_cast<TestHost*>(state); }

  VectisHost host_{};
  std::mutex mutex_;
  std::vector<std::string> logged_;
  std::set<std::string> symbols_;
};

// Everything a slot may need, made on demand and destroyed children first. Each `need` throws when the driver
// refuses.
class Rig {
 public:
  Rig() = default;
  ~Rig() { destroy(); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  static constexpr std::size_t bytes = 1000;

  TestHost host;
  std::uint32_t device = 0;
  VectisBackendState* state = nullptr;
  VectisContext* context = nullptr;
  VectisStream* stream = nullptr;
  VectisStream* other_stream = nullptr;
  VectisEvent* event = nullptr;
  VectisMemory* memory = nullptr;
  VectisMemory* other_memory = nullptr;
  VectisMemory* slice = nullptr;
  VectisContext* peer_context = nullptr;
  VectisStream* peer_stream = nullptr;
  VectisMemory* peer_memory = nullptr;
  void* pinned = nullptr;
  VectisProgram* program = nullptr;
  VectisKernel* kernel = nullptr;
  std::vector<std::uint8_t> data = std::vector<std::uint8_t>(bytes, 7);

  void need_state();
  void need_context();
  void need_streams();
  void need_event();
  void need_memory();  // two, of `bytes` each
  void need_peer();    // another device's context, stream and memory of `bytes`, all of them 5
  void need_pinned();  // host memory of `bytes`
  void need_program();
  void need_kernel();
  void destroy();

  // Round trips of whole vectors, with their synchronisation.
  void upload(VectisMemory* target, const void* source, std::size_t size, std::size_t offset = 0);
  std::vector<std::uint8_t> download(VectisMemory* source, std::size_t size, std::size_t offset = 0);
  Answer synchronize() { return ask(plugin().stream_synchronize, stream); }
};

// Device memory of the rig's context, freed with the last copy.
std::shared_ptr<VectisMemory> allocate(const Rig& rig, std::uint64_t bytes);

// One launch of `mirror` over `count` floats in groups of `group`.
Answer launch_mirror(VectisStream* stream, VectisKernel* kernel, VectisMemory* in, VectisMemory* out, float factor,
                     std::int32_t count, std::uint32_t group);
// What it must write.
std::vector<float> mirror_oracle(const std::vector<float>& in, float factor, std::uint32_t group);

}  // namespace vectis::test
