// A WebGPU device with its streams, as tests of the plug-in need it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/slots/harness.hpp"

namespace vectis::test {

using Bytes = std::vector<std::uint8_t>;
using Memory = std::shared_ptr<VectisMemory>;
using Kernel = std::shared_ptr<VectisKernel>;

// One device opened through the graphics API `api` ("vulkan", "gl"), with two streams. Throws std::runtime_error when
// the plug-in fails.
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
  [[nodiscard]] SlotResult compile(std::string_view wgsl, const char* name, Kernel* kernel) const;
  [[nodiscard]] Kernel kernel(std::string_view wgsl, const char* name) const;

  void upload(VectisMemory* target, const void* source, std::size_t size, std::size_t offset = 0);
  [[nodiscard]] Bytes download(VectisMemory* source, std::size_t size, std::size_t offset = 0);
  [[nodiscard]] SlotResult synchronize() const { return call_slot(plugin().stream_synchronize, stream); }
};

// A launch with buffers and then 4-byte values.
struct Launch {
  std::vector<VectisMemory*> buffers;
  std::vector<std::uint32_t> values;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{64, 1, 1};
};

SlotResult launch(VectisStream* stream, const Kernel& kernel, const Launch& launch);

// `add` writes in[i] + term for i < count in workgroups of 64; `slow` runs for a while in many workgroups of 1, because
// llvmpipe of Mesa 22.3 ends a loop after 65,535 iterations.
extern const std::string_view add_text;
extern const std::string_view slow_text;

// The graphics APIs that tests run on, as parameters.
std::vector<std::string> graphics_apis();

}  // namespace vectis::test
