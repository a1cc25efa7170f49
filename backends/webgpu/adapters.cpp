#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects.hpp"

namespace vectis::webgpu {

namespace {

struct NamedApi {
  std::string_view name;
  WGPUInstanceBackend flags;
};

constexpr std::array apis{NamedApi{"vulkan", WGPUInstanceBackend_Vulkan}, NamedApi{"metal", WGPUInstanceBackend_Metal},
                          NamedApi{"dx12", WGPUInstanceBackend_DX12}, NamedApi{"gl", WGPUInstanceBackend_GL},
                          NamedApi{"all", WGPUInstanceBackend_Primary | WGPUInstanceBackend_Secondary}};

// The built-in kernels are compiled for these: every WebGPU device has workgroups of at least 256 invocations and 16
// KiB of shared memory.
constexpr std::uint32_t block_items = 256;
constexpr std::uint32_t block_depth = 64;
constexpr std::uint32_t shared_bytes_small = 16U << 10U;
constexpr std::uint32_t shared_bytes_large = 32U << 10U;
constexpr std::uint32_t storage_buffers_min = 8;

Owned<WGPUInstance> make_instance(const Api& api, WGPUInstanceBackend flags) {
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = flags;
  WGPUInstanceDescriptor descriptor{};
  descriptor.nextInChain = &extras.chain;
  return {api.CreateInstance(&descriptor), api.InstanceRelease};
}

std::string api_name(WGPUBackendType type) {
  switch (type) {
    case WGPUBackendType_Vulkan:
      return "Vulkan";
    case WGPUBackendType_Metal:
      return "Metal";
    case WGPUBackendType_D3D12:
      return "Direct3D 12";
    case WGPUBackendType_OpenGL:
    case WGPUBackendType_OpenGLES:
      return "OpenGL";
    default:
      return "an unknown API";
  }
}

// By PCI vendor id.
std::string vendor_name(std::uint32_t vendor, WGPUBackendType type) {
  switch (vendor) {
    case 0x10DE:
      return "NVIDIA";
    case 0x1002:
      return "AMD";
    case 0x8086:
      return "Intel";
    case 0x106B:
      return "Apple";
    case 0x13B5:
      return "ARM";
    case 0x5143:
      return "Qualcomm";
    case 0x10005:
      return "Mesa";
    default:
      return type == WGPUBackendType_Metal ? "Apple" : "";
  }
}

// The adapter's own limits, except for the workgroup, whose limits the kernels are compiled for, and for the largest
// binding when the user lowers it.
WGPULimits limits_to_request(const WGPULimits& offered, std::optional<std::uint64_t> binding_kilobytes) {
  WGPULimits limits = offered;
  limits.nextInChain = nullptr;
  limits.maxComputeInvocationsPerWorkgroup = block_items;
  limits.maxComputeWorkgroupSizeX = block_items;
  limits.maxComputeWorkgroupSizeY = block_items;
  limits.maxComputeWorkgroupSizeZ = block_depth;
  limits.maxComputeWorkgroupStorageSize =
      offered.maxComputeWorkgroupStorageSize >= shared_bytes_large ? shared_bytes_large : shared_bytes_small;
  if (binding_kilobytes) {
    limits.maxStorageBufferBindingSize = std::min(offered.maxStorageBufferBindingSize, *binding_kilobytes << 10U);
  }
  return limits;
}

bool is_sufficient(const WGPULimits& offered) {
  return offered.maxComputeInvocationsPerWorkgroup >= block_items && offered.maxComputeWorkgroupSizeX >= block_items &&
         offered.maxComputeWorkgroupSizeY >= block_items && offered.maxComputeWorkgroupSizeZ >= block_depth &&
         offered.maxComputeWorkgroupStorageSize >= shared_bytes_small &&
         offered.maxStorageBuffersPerShaderStage >= storage_buffers_min;
}

ListedAdapter describe(const Api& api, WGPUAdapter adapter) {
  ListedAdapter listed;
  listed.adapter = Owned<WGPUAdapter>(adapter, api.AdapterRelease);
  WGPUAdapterInfo info{};
  api.AdapterGetInfo(adapter, &info);
  listed.name = from_view(info.device);
  listed.backend = info.backendType;
  listed.api = api_name(info.backendType);
  listed.vendor = vendor_name(info.vendorID, info.backendType);
  if (listed.vendor.empty()) listed.vendor = from_view(info.vendor);
  listed.driver = listed.api;
  for (const std::string_view text : {from_view(info.vendor), from_view(info.description)}) {
    if (!text.empty()) listed.driver += (listed.driver == listed.api ? ": " : " ") + std::string(text);
  }
  listed.type = info.adapterType;
  listed.pci_id = std::uint64_t{info.vendorID} << 32U | info.deviceID;
  api.AdapterInfoFreeMembers(info);
  api.AdapterGetLimits(adapter, &listed.limits);
  return listed;
}

std::vector<ListedAdapter> adapters_of(const Api& api, WGPUInstance instance) {
  std::vector<WGPUAdapter> handles(api.InstanceEnumerateAdapters(instance, nullptr, nullptr));
  handles.resize(std::min(handles.size(), api.InstanceEnumerateAdapters(instance, nullptr, handles.data())));
  std::vector<ListedAdapter> found;
  found.reserve(handles.size());
  for (WGPUAdapter handle : handles) found.push_back(describe(api, handle));
  return found;
}

// Adds the usable adapters and logs why the others are not listed.
void add_usable(VectisBackendState& state, std::vector<ListedAdapter> found) {
  const char* const pci_folder = state.host.setting("pci_folder");
  const std::vector<PciCard> cards = list_pci_cards(pci_folder == nullptr ? "/sys/bus/pci/devices" : pci_folder);
  const auto binding_kilobytes = state.host.positive_setting("binding_kb", "KiB", std::uint64_t{1} << 40U);
  for (ListedAdapter& adapter : found) {
    if (!is_sufficient(adapter.limits)) {
      state.host.log(VECTIS_LOG_INFO, adapter.name + " through " + adapter.api +
                                          " is not listed: it has no compute shaders, or workgroups below 256 "
                                          "invocations and 16 KiB, or fewer than 8 storage buffers");
      continue;
    }
    adapter.limits = limits_to_request(adapter.limits, binding_kilobytes);
    adapter.card = match_card(cards, static_cast<std::uint32_t>(adapter.pci_id >> 32U),
                              static_cast<std::uint32_t>(adapter.pci_id));
    state.adapters.push_back(std::move(adapter));
  }
}

// One physical device may be offered through several APIs: the first one stays.
void drop_duplicates(std::vector<ListedAdapter>& adapters) {
  std::vector<ListedAdapter> kept;
  for (ListedAdapter& adapter : adapters) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const ListedAdapter& other) {
      return other.pci_id == adapter.pci_id && other.backend != adapter.backend;
    });
    if (!known) kept.push_back(std::move(adapter));
  }
  adapters = std::move(kept);
}

void list(VectisBackendState& state, WGPUInstanceBackend flags) {
  state.adapters.clear();
  state.instance = make_instance(state.api, flags);
  add_usable(state, adapters_of(state.api, state.instance.get()));
}

}  // namespace

void find_adapters(VectisBackendState& state) {
  const char* setting = state.host.setting("api");
  if (setting == nullptr) {
    list(state, WGPUInstanceBackend_Primary);
    drop_duplicates(state.adapters);
    if (state.adapters.empty()) list(state, WGPUInstanceBackend_GL);
  } else {
    const auto* named =
        std::find_if(apis.begin(), apis.end(), [&](const NamedApi& each) { return each.name == setting; });
    if (named == apis.end()) {
      throw Failure(VECTIS_INVALID_INPUT,
                    std::string("the setting api is '") + setting + "'; it must be vulkan, metal, dx12, gl or all",
                    VECTIS_REASON_OTHER);
    }
    list(state, named->flags);
  }
  if (!state.adapters.empty()) return;
  throw Failure(VECTIS_BACKEND_CREATION,
                "wgpu-native " + version_text(state.api) + " finds no usable GPU or software renderer" +
                    (setting == nullptr ? std::string() : std::string(" through ") + setting),
                VECTIS_REASON_NO_DRIVER);
}

}  // namespace vectis::webgpu
