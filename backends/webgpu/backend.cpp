// The WebGPU backend's table.
#include "vectis/device/backend.h"

#include "slots.hpp"

namespace {

namespace webgpu = vectis::webgpu;

constexpr VectisBackend make_table() {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = "webgpu";
  table.version = "0.1.0";
  table.requirement = "wgpu-native 29 and a Vulkan, Metal, Direct3D 12 or OpenGL ES 3.1 driver";
  table.install =
      "Install the library wgpu-native 29: `pip install wgpu==0.32.0` (Linux, macOS and Windows) and set "
      "VECTIS_BACKENDS_WEBGPU_LIBRARY to the file libwgpu_native-release.so, .dylib or .dll in the package's folder "
      "wgpu/resources, or take libwgpu_native from https://github.com/gfx-rs/wgpu-native/releases. Linux also needs a "
      "Vulkan driver (Debian: mesa-vulkan-drivers); macOS (Metal) and Windows (Direct3D 12) bring theirs.";
  table.open = webgpu::open;
  table.close = webgpu::close;
  table.configure = webgpu::configure;
  table.device_count = webgpu::device_count;
  table.device_info = webgpu::device_info;
  table.context_create = webgpu::context_create;
  table.context_destroy = webgpu::context_destroy;
  table.memory_allocate = webgpu::memory_allocate;
  table.memory_free = webgpu::memory_free;
  table.memory_slice = webgpu::memory_slice;
  table.stream_create = webgpu::stream_create;
  table.stream_destroy = webgpu::stream_destroy;
  table.stream_synchronize = webgpu::stream_synchronize;
  table.copy_to_device = webgpu::copy_to_device;
  table.copy_to_host = webgpu::copy_to_host;
  table.copy_on_device = webgpu::copy_on_device;
  table.fill = webgpu::fill;
  table.event_create = webgpu::event_create;
  table.event_destroy = webgpu::event_destroy;
  table.event_record = webgpu::event_record;
  table.event_query = webgpu::event_query;
  table.event_synchronize = webgpu::event_synchronize;
  table.stream_wait_event = webgpu::stream_wait_event;
  table.program_create = webgpu::program_create;
  table.program_destroy = webgpu::program_destroy;
  table.kernel_create = webgpu::kernel_create;
  table.kernel_destroy = webgpu::kernel_destroy;
  table.launch = webgpu::launch;
  return table;
}

constexpr VectisBackend table = make_table();

}  // namespace

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &table; }
