#include "harness.hpp"

#include <stdexcept>

namespace vectis::test {

const std::string_view add_text = R"(
struct Scalars { term: u32, count: u32 }
@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
@group(0) @binding(2) var<uniform> scalars: Scalars;
@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < scalars.count) { sums[id.x] = values[id.x] + scalars.term; }
}
)";

const std::string_view slow_text = R"(
@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@group(0) @binding(1) var<uniform> rounds: vec4<u32>;
@compute @workgroup_size(1)
fn slow() {
  var value = 0u;
  for (var round = 0u; round < rounds.x; round++) { value = value * 1664525u + 1013904223u; }
  result[0] = value;
}
)";

std::map<std::string, std::string> default_settings() { return {{"library", VECTIS_WEBGPU_LIBRARY}}; }

namespace {

template <class Handle, class Slot, class... Arguments>
Handle* make(Slot slot, Arguments... arguments) {
  Handle* handle = nullptr;
  const SlotResult result = call_slot(slot, arguments..., &handle);
  if (result.status != VECTIS_OK) throw std::runtime_error("the test's own objects cannot be made: " + result.text);
  return handle;
}

}  // namespace

Rig::Rig(const std::string& api, void (*prepare)(TestHost&)) {
  if (prepare != nullptr) prepare(host);
  host.settings["api"] = api;
  state = make<VectisBackendState>(plugin().open, host.get());
  info.size = sizeof info;
  EXPECT_TRUE(succeeded(call_slot(plugin().device_info, state, 0U, &info)));
  context = make<VectisContext>(plugin().context_create, state, 0U);
  stream = make<VectisStream>(plugin().stream_create, context);
  other_stream = make<VectisStream>(plugin().stream_create, context);
}

Rig::~Rig() {
  const VectisBackend& table = plugin();
  table.stream_destroy(stream);
  table.stream_destroy(other_stream);
  table.context_destroy(context);
  table.close(state);
}

Memory Rig::allocate(std::uint64_t bytes) const {
  VectisContext* owner = context;
  return {make<VectisMemory>(plugin().memory_allocate, context, bytes),
          [owner](VectisMemory* memory) { plugin().memory_free(owner, memory); }};
}

Memory Rig::slice(const Memory& whole, std::uint64_t offset, std::uint64_t bytes) const {
  VectisContext* owner = context;
  return {make<VectisMemory>(plugin().memory_slice, whole.get(), offset, bytes),
          [owner, whole](VectisMemory* memory) { plugin().memory_free(owner, memory); }};
}

std::shared_ptr<VectisEvent> Rig::event() const {
  return {make<VectisEvent>(plugin().event_create, context), plugin().event_destroy};
}

SlotResult Rig::compile(std::string_view wgsl, const char* name, Kernel* kernel) const {
  VectisProgram* program = nullptr;
  const SlotResult compiled = call_slot(plugin().program_create, context, "wgsl", static_cast<const void*>(wgsl.data()),
                                        wgsl.size(), "", &program);
  if (compiled.status != VECTIS_OK) return compiled;
  VectisKernel* made = nullptr;
  SlotResult found = call_slot(plugin().kernel_create, program, name, &made);
  if (found.status != VECTIS_OK) {
    plugin().program_destroy(program);
    return found;
  }
  *kernel = {made, [program](VectisKernel* held) {
               plugin().kernel_destroy(held);
               plugin().program_destroy(program);
             }};
  return found;
}

Kernel Rig::kernel(std::string_view wgsl, const char* name) const {
  Kernel made;
  EXPECT_TRUE(succeeded(compile(wgsl, name, &made)));
  return made;
}

void Rig::upload(VectisMemory* target, const void* source, std::size_t size, std::size_t offset) {
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_device, stream, target, offset, source, size)));
}

Bytes Rig::download(VectisMemory* source, std::size_t size, std::size_t offset) {
  Bytes target(size);
  EXPECT_TRUE(
      succeeded(call_slot(plugin().copy_to_host, stream, static_cast<void*>(target.data()), source, offset, size)));
  EXPECT_TRUE(succeeded(synchronize()));
  return target;
}

SlotResult launch(VectisStream* stream, const Kernel& kernel, const Launch& launch) {
  std::vector<VectisArgument> arguments;
  for (VectisMemory* buffer : launch.buffers) arguments.push_back({VECTIS_ARGUMENT_MEMORY, buffer, nullptr, 0});
  for (const std::uint32_t& value : launch.values)
    arguments.push_back({VECTIS_ARGUMENT_VALUE, nullptr, &value, sizeof value});
  const VectisLaunch given{sizeof(VectisLaunch),
                           {launch.grid[0], launch.grid[1], launch.grid[2]},
                           {launch.block[0], launch.block[1], launch.block[2]},
                           arguments.data(),
                           arguments.size()};
  return call_slot(plugin().launch, stream, kernel.get(), &given);
}

std::vector<std::string> graphics_apis() { return {"vulkan", "gl"}; }

}  // namespace vectis::test
