// What a named operation on lavapipe costs beside bare wgpu-native launching the very kernel the operation launches,
// with the same arguments, taken in turns: batches of launches of one work-group with one wait at the end. The bare
// program knows beforehand what it will launch: one bind group, one encoder and one submission for the whole batch.
// Prints JSON.
#include <wgpu.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"

namespace {

constexpr int batch = 500;
constexpr int rounds = 41;
constexpr std::uint32_t columns = 64;
constexpr std::uint32_t step = 256;  // between the scalars of two launches

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What glslc made of this text when the plug-in was built.
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

// The least a program of one kernel needs.
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

template <class Work>
double nanoseconds_each(const Work& work) {
  const std::uint64_t start = vectis::monotonic_nanoseconds();
  work();
  return static_cast<double>(vectis::monotonic_nanoseconds() - start) / batch;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  vectis::Runtime runtime;
  const vectis::DeviceContext context(*runtime.service<vectis::DeviceRegistry>().find("webgpu"));
  vectis::Stream stream(context);
  const vectis::View view(vectis::DeviceMemory(context, sizeof(float) * columns), vectis::DType::float32, 1, columns);
  const vectis::ParameterValue one = 1.0;
  const vectis::Operation& fill = *vectis::find_operation("fill");
  const vectis::LaunchPlan plan = fill.plan({&fill, {&view, 1}, {&one, 1}}, context.device().info());
  Bare bare(module_of(print(plan.launches.at(0).source(), vectis::Dialect::glsl_webgpu)),
            plan.launches[0].shape.block[0]);
  const auto ours = [&] {
    return nanoseconds_each([&] {
      for (int i = 0; i < batch; ++i) vectis::run(stream, "fill", {view}, {1.0});
      stream.synchronize();
    });
  };
  const auto theirs = [&] { return nanoseconds_each([&] { bare.run(); }); };
  ours();
  theirs();
  std::vector<double> our_times;
  std::vector<double> bare_times;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    our_times.push_back(ours());
    bare_times.push_back(theirs());
    ratios.push_back(our_times.back() / bare_times.back());
  }
  const nlohmann::ordered_json report = {{"nanoseconds of a launch", median(our_times)},
                                         {"nanoseconds of a bare launch", median(bare_times)},
                                         {"ratio", median(ratios)}};
  std::cout << report.dump(2) << '\n';
}
