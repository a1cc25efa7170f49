// The functions of wgpu-native this backend calls, found at run time.
#pragma once

#include <wgpu.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/plugin/failure.hpp"
#include "backends/plugin/host.hpp"
#include "backends/plugin/unique_handle.hpp"
#include "vectis/device/backend.h"

namespace vectis::webgpu {

using plugin::Failure;
using plugin::Host;

// clang-format off
#define VECTIS_WEBGPU_FUNCTIONS(each)                                                            \
  each(CreateInstance) each(InstanceEnumerateAdapters) each(InstanceRelease)                     \
  each(AdapterGetInfo) each(AdapterInfoFreeMembers) each(AdapterGetLimits)                       \
  each(AdapterRequestDevice) each(AdapterRelease)                                                \
  each(DeviceGetQueue) each(DevicePoll) each(DeviceDestroy) each(DeviceRelease)                  \
  each(DeviceCreateBuffer) each(DeviceCreateShaderModule) each(DeviceCreateBindGroupLayout)      \
  each(DeviceCreatePipelineLayout) each(DeviceCreateComputePipeline) each(DeviceCreateBindGroup) \
  each(DeviceCreateCommandEncoder)                                                               \
  each(BufferMapAsync) each(BufferGetConstMappedRange) each(BufferUnmap) each(BufferRelease)     \
  each(ShaderModuleRelease) each(BindGroupLayoutRelease) each(PipelineLayoutRelease)             \
  each(ComputePipelineRelease) each(BindGroupRelease)                                            \
  each(CommandEncoderBeginComputePass) each(CommandEncoderCopyBufferToBuffer)                    \
  each(CommandEncoderFinish) each(CommandEncoderRelease) each(CommandBufferRelease)              \
  each(ComputePassEncoderSetPipeline) each(ComputePassEncoderSetBindGroup)                       \
  each(ComputePassEncoderDispatchWorkgroups) each(ComputePassEncoderEnd)                         \
  each(ComputePassEncoderRelease)                                                                \
  each(QueueSubmitForIndex) each(QueueWriteBuffer) each(QueueOnSubmittedWorkDone)                \
  each(QueueRelease) each(GetVersion)
// clang-format on

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses): the names are WebGPU's
// The functions of wgpu-native. After load_api() none is null. Immutable, so thread-safe.
struct Api {
#define VECTIS_WEBGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
  VECTIS_WEBGPU_FUNCTIONS(VECTIS_WEBGPU_MEMBER)
#undef VECTIS_WEBGPU_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// Opens the file that the setting `library` names, or libwgpu_native, which the host also looks for beside the
// plug-ins, and returns its functions. Throws Failure with VECTIS_BACKEND_CREATION: reason NO_LIBRARY when it cannot
// be opened, DRIVER_TOO_OLD when it lacks a function or has a major version other than 29, whose structs differ.
Api load_api(const Host& host);

// Owns an object of wgpu and releases it on destruction.
template <class Object>
using Owned = plugin::UniqueHandle<Object, void (*)(Object)>;

// Returns the version of wgpu-native with four parts: "29.0.3.0". Precondition: `api` is loaded.
std::string version_text(const Api& api);

// Returns a view of `text` for wgpu, valid as long as the text is. Does not throw.
inline WGPUStringView text_view(std::string_view text) noexcept { return {text.data(), text.size()}; }

// Returns a view of wgpu's text, valid as long as that text is; an empty view when `view` is null. Does not throw.
inline std::string_view from_view(WGPUStringView view) noexcept {
  if (view.data == nullptr) return {};
  return view.length == WGPU_STRLEN ? std::string_view(view.data) : std::string_view(view.data, view.length);
}

}  // namespace vectis::webgpu
