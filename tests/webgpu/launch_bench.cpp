// The cost of a named operation on lavapipe, compared with bare wgpu-native that launches the same kernel with the same
// arguments: batches of launches of one workgroup with one wait at the end. The bare program knows its launches in
// advance: one bind group, one encoder and one submission for the whole batch. Prints JSON.
#include <wgpu.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/launch_comparison.hpp"

namespace {

constexpr int batch = vectis::test::launches_in_batch;
constexpr std::uint32_t columns = vectis::test::FillLaunch::columns;
constexpr std::uint32_t step = 256;  // between the scalars of two launches

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The module that glslc compiled from this text when the plug-in was built.
std::vector<std::uint32_t> module_of(const std::string& text) {
  for (const auto& file : std::filesystem::directory_iterator(VECTIS_WEBGPU_TEXTS)) {
    if (file.path().extension() != ".comp" || contents(file.path()) != text) continue;
    const std::string bytes = contents(file.path().string() + ".spv");
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
    return words;
  }
  throw std::runtime_error("fill is not among the built-in kernels");
}

void keep_device(WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView, void* target, void*) {
  *static_cast<WGPUDevice*>(target) = device;
}

WGPUBindGroupLayoutEntry layout_entry(std::uint32_t binding, WGPUBufferBindingType type, bool moves) {
  WGPUBindGroupLayoutEntry entry{};
  entry.binding = binding;
  entry.visibility = WGPUShaderStage_Compute;
  entry.buffer.type = type;
  entry.buffer.hasDynamicOffset = moves ? WGPU_TRUE : WGPU_FALSE;
  return entry;
}

// A minimal wgpu program with one kernel.
class Bare {
 public:
  explicit Bare(std::span<const std::uint32_t> spirv, std::uint32_t group) {
    WGPUInstanceExtras extras{};
    extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
    extras.backends = WGPUInstanceBackend_Vulkan;
    WGPUInstanceDescriptor wanted{};
    wanted.nextInChain = &extras.chain;
    WGPUInstance instance = wgpuCreateInstance(&wanted);
    WGPUAdapter adapter = nullptr;
    if (wgpuInstanceEnumerateAdapters(instance, nullptr, nullptr) != 1) throw std::runtime_error("not one adapter");
    wgpuInstanceEnumerateAdapters(instance, nullptr, &adapter);
    wgpuAdapterRequestDevice(adapter, nullptr,
                             {nullptr, WGPUCallbackMode_AllowSpontaneous, &keep_device, &device_, nullptr});
    queue_ = wgpuDeviceGetQueue(device_);
    make_pipeline(spirv);
    const std::array scalars{group, columns, columns, 1U, columns, 0U, columns, 0x3F800000U};
    for (int launch = 0; launch < batch; ++launch) {
      std::memcpy(&scalars_[static_cast<std::size_t>(launch) * step], scalars.data(), sizeof scalars);
    }
  }

  void run() {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device_, nullptr);
    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    wgpuComputePassEncoderSetPipeline(pass, pipeline_);
    for (std::uint32_t launch = 0; launch < batch; ++launch) {
      const std::uint32_t offset = launch * step;
      wgpuComputePassEncoderSetBindGroup(pass, 0, group_, 1, &offset);
      wgpuComputePassEncoderDispatchWorkgroups(pass, 1, 1, 1);
    }
    wgpuComputePassEncoderEnd(pass);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuQueueWriteBuffer(queue_, uniform_, 0, scalars_.data(), scalars_.size());
    const WGPUSubmissionIndex index = wgpuQueueSubmitForIndex(queue_, 1, &commands);
    wgpuDevicePoll(device_, WGPU_TRUE, &index);
    wgpuCommandBufferRelease(commands);
    wgpuComputePassEncoderRelease(pass);
    wgpuCommandEncoderRelease(encoder);
  }

 private:
  WGPUBuffer make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) {
    WGPUBufferDescriptor wanted{};
    wanted.size = bytes;
    wanted.usage = usage;
    return wgpuDeviceCreateBuffer(device_, &wanted);
  }

  void make_pipeline(std::span<const std::uint32_t> spirv) {
    WGPUShaderSourceSPIRV source{
        {nullptr, WGPUSType_ShaderSourceSPIRV}, static_cast<std::uint32_t>(spirv.size()), spirv.data()};
    WGPUShaderModuleDescriptor module{};
    module.nextInChain = &source.chain;
    const std::array entries{layout_entry(0, WGPUBufferBindingType_Storage, false),
                             layout_entry(1, WGPUBufferBindingType_Uniform, true)};
    WGPUBindGroupLayoutDescriptor bindings{};
    bindings.entryCount = entries.size();
    bindings.entries = entries.data();
    WGPUBindGroupLayout layout = wgpuDeviceCreateBindGroupLayout(device_, &bindings);
    WGPUPipelineLayoutDescriptor layouts{};
    layouts.bindGroupLayoutCount = 1;
    layouts.bindGroupLayouts = &layout;
    WGPUComputePipelineDescriptor pipeline{};
    pipeline.layout = wgpuDeviceCreatePipelineLayout(device_, &layouts);
    pipeline.compute.module = wgpuDeviceCreateShaderModule(device_, &module);
    pipeline.compute.entryPoint = {"main", WGPU_STRLEN};
    pipeline_ = wgpuDeviceCreateComputePipeline(device_, &pipeline);
    uniform_ = make_buffer(scalars_.size(), WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst);
    std::array<WGPUBindGroupEntry, 2> bound{};
    bound[0].buffer = make_buffer(sizeof(float) * columns, WGPUBufferUsage_Storage);
    bound[0].size = sizeof(float) * columns;
    bound[1].binding = 1;
    bound[1].buffer = uniform_;
    bound[1].size = 32;
    WGPUBindGroupDescriptor group{};
    group.layout = layout;
    group.entryCount = bound.size();
    group.entries = bound.data();
    group_ = wgpuDeviceCreateBindGroup(device_, &group);
  }

  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  WGPUComputePipeline pipeline_ = nullptr;
  WGPUBuffer uniform_ = nullptr;
  WGPUBindGroup group_ = nullptr;
  std::vector<std::byte> scalars_ = std::vector<std::byte>(std::size_t{batch} * step);
};

}  // namespace

int main() {
  vectis::Runtime runtime;
  vectis::test::FillLaunch ours(runtime, "webgpu");
  Bare bare(module_of(print(ours.plan.launches.at(0).source(), vectis::Dialect::glsl_webgpu)),
            ours.plan.launches[0].shape.block[0]);
  compare_launches(ours, [&] { bare.run(); });
}
