#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery.hpp"
#include "objects.hpp"
#include "query.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::opencl {

namespace {

template <std::size_t Room>
void copy_text(char (&target)[Room], std::string_view text) {
  const std::size_t length = std::min(text.size(), Room - 1);
  text.copy(target, length);
  target[length] = '\0';
}

VectisDeviceKind kind_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return VECTIS_DEVICE_GPU;
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? VECTIS_DEVICE_CPU : VECTIS_DEVICE_ACCELERATOR;
}

bool is_software(cl_device_type type, std::string_view name) {
  const auto says = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  return (type & CL_DEVICE_TYPE_CPU) != 0 || says("llvmpipe") || says("softpipe");
}

class Extensions {
 public:
  explicit Extensions(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) words_.push_back(std::move(word));
  }
  [[nodiscard]] bool has(std::string_view extension) const {
    return std::find(words_.begin(), words_.end(), extension) != words_.end();
  }

 private:
  std::vector<std::string> words_;
};

std::uint64_t capabilities(const Api& api, cl_device_id device) {
  const Extensions extensions(device_text(api, device, CL_DEVICE_EXTENSIONS));
  const auto fp64 = device_value<cl_device_fp_config>(api, device, CL_DEVICE_DOUBLE_FP_CONFIG);
  const auto unified = device_value<cl_bool>(api, device, CL_DEVICE_HOST_UNIFIED_MEMORY);
  std::uint64_t bits = VECTIS_CAN_TIMESTAMPS;  // every queue can be profiled: OpenCL demands it
  if (extensions.has("cl_khr_fp16")) bits |= VECTIS_CAN_FP16;
  if (fp64 != 0) bits |= VECTIS_CAN_FP64;
  if (extensions.has("cl_khr_integer_dot_product")) bits |= VECTIS_CAN_INT8_DOT;
  if (extensions.has("cl_khr_subgroups") || extensions.has("cl_intel_subgroups")) bits |= VECTIS_CAN_SUBGROUPS;
  if (unified == CL_TRUE) bits |= VECTIS_CAN_UNIFIED_MEMORY;
  return bits;
}

void describe_identity(const Api& api, const ListedDevice& device, VectisDeviceInfo& info) {
  const std::string name = device_text(api, device.id, CL_DEVICE_NAME);
  const auto type = device_value<cl_device_type>(api, device.id, CL_DEVICE_TYPE);
  const auto compiler = device_value<cl_bool>(api, device.id, CL_DEVICE_COMPILER_AVAILABLE);
  copy_text(info.name, name);
  copy_text(info.vendor, device_text(api, device.id, CL_DEVICE_VENDOR));
  copy_text(info.driver, platform_text(api, device.platform, CL_PLATFORM_NAME) + " " +
                             device_text(api, device.id, CL_DRIVER_VERSION));
  copy_text(info.dialects, compiler == CL_TRUE ? "opencl-c" : "");
  info.kind = kind_of(type);
  info.software = is_software(type, name) ? 1 : 0;
}

void describe_limits(const Api& api, cl_device_id device, VectisDeviceInfo& info) {
  constexpr std::uint64_t bits_in_byte = 8;
  info.compute_units = device_value<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.memory_bytes = device_value<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.allocation_bytes_max = device_value<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.memory_alignment = device_value<cl_uint>(api, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / bits_in_byte;
  info.shared_bytes_max = device_value<cl_ulong>(api, device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.group_items_max =
      static_cast<std::uint32_t>(device_value<std::size_t>(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  std::vector<std::size_t> sizes = device_values<std::size_t>(api, device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
  sizes.resize(std::size(info.group_size_max), 1);
  std::transform(sizes.begin(), sizes.end(), info.group_size_max,
                 [](std::size_t size) { return static_cast<std::uint32_t>(size); });
}

// Equal for a device and its parts, different for all others.
std::string physical_id(std::uint32_t index, const ListedDevice& device) {
  return "opencl-" + std::to_string(device.parent < 0 ? static_cast<std::int64_t>(index) : device.parent);
}

}  // namespace

VectisStatus device_count(VectisBackendState* state, std::uint32_t* count, VectisMessage*) noexcept {
  *count = static_cast<std::uint32_t>(state->devices.size());
  return VECTIS_OK;
}

VectisStatus device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info,
                         VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const ListedDevice& device = device_at(*state, index);
    VectisDeviceInfo answer{};
    describe_identity(state->api, device, answer);
    describe_limits(state->api, device.id, answer);
    copy_text(answer.physical_id, physical_id(index, device));
    answer.parent = device.parent;
    answer.capabilities = capabilities(state->api, device.id);
    answer.size = info->size;
    std::memcpy(info, &answer, std::min(info->size, sizeof answer));
    return VECTIS_OK;
  });
}

}  // namespace vectis::opencl
