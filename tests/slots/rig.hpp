// The objects that tests of a plug-in's slots need. Each test program defines the program they compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/slots/harness.hpp"

namespace vectis::test {

// The program of Rig: `mirror` reverses the floats of each work-group, times a factor, plus the index of the group;
// `place` writes the position of each work-item; `slow` runs for a while.
extern const std::string_view program_text;
extern const std::string_view wrong_program_text;  // does not compile
extern const char* const program_dialect;

// One object of each kind, created on demand and destroyed children first. Each `need` throws std::runtime_error when
// the plug-in fails.
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
  void need_peer();    // another device's context, stream and memory of `bytes`, filled with 5
  void need_pinned();  // host memory of `bytes`
  void need_program();
  void need_kernel();
  void destroy();

  // Copies with a synchronize.
  void upload(VectisMemory* target, const void* source, std::size_t size, std::size_t offset = 0);
  std::vector<std::uint8_t> download(VectisMemory* source, std::size_t size, std::size_t offset = 0);
  SlotResult synchronize() { return call_slot(plugin().stream_synchronize, stream); }
};

// Device memory of the rig's context, freed with the last copy.
std::shared_ptr<VectisMemory> allocate(const Rig& rig, std::uint64_t bytes);

// One launch of `mirror` over `count` floats in groups of `group`.
SlotResult launch_mirror(VectisStream* stream, VectisKernel* kernel, VectisMemory* in, VectisMemory* out, float factor,
                         std::int32_t count, std::uint32_t group);
// What the launch must write.
std::vector<float> mirror_oracle(const std::vector<float>& in, float factor, std::uint32_t group);

}  // namespace vectis::test
