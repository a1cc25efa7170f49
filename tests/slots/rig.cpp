#include "tests/slots/rig.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace vectis::test {

namespace {

// Creates `handle` unless it exists.
template <class Handle, class Slot, class... Arguments>
void make(Handle*& handle, Slot slot, Arguments... arguments) {
  if (handle != nullptr) return;
  const SlotResult result = call_slot(slot, arguments..., &handle);
  if (result.status != VECTIS_OK) throw std::runtime_error("the test's own objects cannot be made: " + result.text);
}

}  // namespace

void Rig::need_state() { make(state, plugin().open, host.get()); }

void Rig::need_context() {
  need_state();
  make(context, plugin().context_create, state, device);
}

void Rig::need_streams() {
  need_context();
  make(stream, plugin().stream_create, context);
  make(other_stream, plugin().stream_create, context);
}

void Rig::need_event() {
  need_context();
  make(event, plugin().event_create, context);
}

void Rig::need_memory() {
  need_context();
  make(memory, plugin().memory_allocate, context, bytes);
  make(other_memory, plugin().memory_allocate, context, bytes);
}

void Rig::need_peer() {
  need_state();
  make(peer_context, plugin().context_create, state, device + 1);
  make(peer_stream, plugin().stream_create, peer_context);
  make(peer_memory, plugin().memory_allocate, peer_context, bytes);
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, peer_stream, peer_memory, 0U, bytes, std::uint8_t{5})));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_synchronize, peer_stream)));
}

void Rig::need_pinned() {
  need_context();
  make(pinned, plugin().host_allocate, context, bytes);
}

void Rig::need_program() {
  need_context();
  make(program, plugin().program_create, context, program_dialect, program_text.data(), program_text.size(), "");
}

void Rig::need_kernel() {
  need_program();
  make(kernel, plugin().kernel_create, program, "mirror");
}

void Rig::destroy() {
  const VectisBackend& table = plugin();
  if (kernel != nullptr) table.kernel_destroy(std::exchange(kernel, nullptr));
  if (program != nullptr) table.program_destroy(std::exchange(program, nullptr));
  if (event != nullptr) table.event_destroy(std::exchange(event, nullptr));
  if (stream != nullptr) table.stream_destroy(std::exchange(stream, nullptr));
  if (other_stream != nullptr) table.stream_destroy(std::exchange(other_stream, nullptr));
  if (slice != nullptr) table.memory_free(context, std::exchange(slice, nullptr));
  if (memory != nullptr) table.memory_free(context, std::exchange(memory, nullptr));
  if (other_memory != nullptr) table.memory_free(context, std::exchange(other_memory, nullptr));
  if (pinned != nullptr) table.host_free(context, std::exchange(pinned, nullptr));
  if (peer_stream != nullptr) table.stream_destroy(std::exchange(peer_stream, nullptr));
  if (peer_memory != nullptr) table.memory_free(peer_context, std::exchange(peer_memory, nullptr));
  if (peer_context != nullptr) table.context_destroy(std::exchange(peer_context, nullptr));
  if (context != nullptr) table.context_destroy(std::exchange(context, nullptr));
  if (state != nullptr) table.close(std::exchange(state, nullptr));
}

void Rig::upload(VectisMemory* target, const void* source, std::size_t size, std::size_t offset) {
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_device, stream, target, offset, source, size)));
  EXPECT_TRUE(succeeded(synchronize()));
}

std::shared_ptr<VectisMemory> allocate(const Rig& rig, std::uint64_t bytes) {
  VectisMemory* memory = nullptr;
  EXPECT_TRUE(succeeded(call_slot(plugin().memory_allocate, rig.context, bytes, &memory)));
  return {memory, [&rig](VectisMemory* held) {
            if (held != nullptr) plugin().memory_free(rig.context, held);
          }};
}

SlotResult launch_mirror(VectisStream* stream, VectisKernel* kernel, VectisMemory* in, VectisMemory* out, float factor,
                         std::int32_t count, std::uint32_t group) {
  const std::array arguments{VectisArgument{VECTIS_ARGUMENT_MEMORY, in, nullptr, 0},
                             VectisArgument{VECTIS_ARGUMENT_MEMORY, out, nullptr, 0},
                             VectisArgument{VECTIS_ARGUMENT_VALUE, nullptr, &factor, sizeof factor},
                             VectisArgument{VECTIS_ARGUMENT_VALUE, nullptr, &count, sizeof count},
                             VectisArgument{VECTIS_ARGUMENT_SHARED, nullptr, nullptr, group * sizeof(float)}};
  const std::uint32_t groups = (static_cast<std::uint32_t>(count) + group - 1) / group;
  const VectisLaunch launch{sizeof(VectisLaunch), {groups, 1, 1}, {group, 1, 1}, arguments.data(), arguments.size()};
  return call_slot(plugin().launch, stream, kernel, &launch);
}

std::vector<float> mirror_oracle(const std::vector<float>& in, float factor, std::uint32_t group) {
  std::vector<float> out(in.size());
  for (std::size_t item = 0; item < in.size(); ++item) {
    const std::size_t number = item / group;
    const std::size_t from = number * group + (group - 1 - item % group);
    out[item] = factor * (from < in.size() ? in[from] : 0.0F) + static_cast<float>(number);
  }
  return out;
}

std::vector<std::uint8_t> Rig::download(VectisMemory* source, std::size_t size, std::size_t offset) {
  std::vector<std::uint8_t> target(size);
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_host, stream, target.data(), source, offset, size)));
  EXPECT_TRUE(succeeded(synchronize()));
  return target;
}

}  // namespace vectis::test
