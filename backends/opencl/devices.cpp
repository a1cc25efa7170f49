#include "devices.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/plugin/devices.hpp"
#include "backends/plugin/slots.hpp"
#include "query.hpp"

namespace vectis::opencl {

namespace {

constexpr cl_int platform_not_found = -1001;  // CL_PLATFORM_NOT_FOUND_KHR: the loader found no driver

std::vector<cl_platform_id> platforms(const Api& api) {
  cl_uint count = 0;
  const cl_int code = api.GetPlatformIDs(0, nullptr, &count);
  if (code == platform_not_found || (code == CL_SUCCESS && count == 0)) {
    throw Failure(VECTIS_BACKEND_CREATION, "the OpenCL loader found no driver: clGetPlatformIDs lists no platform",
                  VECTIS_REASON_NO_DRIVER);
  }
  check(code, "clGetPlatformIDs");
  std::vector<cl_platform_id> found(count);
  check(api.GetPlatformIDs(count, found.data(), nullptr), "clGetPlatformIDs");
  return found;
}

std::vector<cl_device_id> devices_of(const Api& api, cl_platform_id platform) {
  cl_uint count = 0;
  const cl_int code = api.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (code == CL_DEVICE_NOT_FOUND) return {};
  check(code, "clGetDeviceIDs");
  std::vector<cl_device_id> found(count);
  if (count == 0) return found;
  check(api.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, found.data(), nullptr), "clGetDeviceIDs");
  return found;
}

constexpr std::string_view pocl_name = "Portable Computing Language";

// Whether a folder of PATH holds the linker `ld`.
bool has_linker() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (!folder.empty() && std::filesystem::exists(std::filesystem::path(folder) / "ld", ignored)) return true;
  }
  return false;
}

// PoCL links every kernel with `ld` and aborts the process when it finds none: such a platform is not used.
void require_linker(const std::string& platform) {
  if (has_linker()) return;
  throw Failure(VECTIS_BACKEND_CREATION,
                platform +
                    " is not used: it needs the linker `ld`, which no folder of PATH holds, and would abort the "
                    "process; set PATH, or install binutils",
                VECTIS_REASON_OTHER);
}

// Lists the devices of every platform; an unusable platform or device becomes a failure and not an end.
class DeviceSearch {
 public:
  explicit DeviceSearch(VectisBackendState& state) : state_(state) {}

  void run() {
    for (cl_platform_id platform : platforms(state_.api)) {
      attempt([&] { add_platform(platform); });
    }
    if (state_.devices.empty()) throw best_explanation();
    for (const Failure& failure : failures_) {
      const bool expected = failure.reason() == VECTIS_REASON_NO_DEVICE;
      state_.host.log(expected ? VECTIS_LOG_INFO : VECTIS_LOG_WARNING, std::string("skipped: ") + failure.what());
    }
  }

 private:
  template <class Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const Failure& failure) {
      failures_.push_back(failure);
    }
  }

  void add_platform(cl_platform_id platform) {
    const Api& api = state_.api;
    const std::string title = platform_text(api, platform, CL_PLATFORM_NAME);
    const std::string name = "the OpenCL platform '" + title + "'";
    require_version(name, platform_text(api, platform, CL_PLATFORM_VERSION));
    if (title == pocl_name) require_linker(name);
    const std::vector<cl_device_id> devices = devices_of(api, platform);
    if (devices.empty()) {
      const char* const hint = title == pocl_name ? "; PoCL offers none when it cannot write its cache folder: set "
                                                    "POCL_CACHE_DIR to a writable folder"
                                                  : "";
      throw Failure(VECTIS_BACKEND_CREATION, name + " offers no device" + hint, VECTIS_REASON_NO_DEVICE);
    }
    for (cl_device_id device : devices) {
      attempt([&] { add_device(platform, device); });
    }
  }

  void add_device(cl_platform_id platform, cl_device_id device) {
    const Api& api = state_.api;
    const std::string name = "the OpenCL device '" + device_text(api, device, CL_DEVICE_NAME) + "'";
    require_version(name, device_text(api, device, CL_DEVICE_VERSION));
    if (device_value<cl_bool>(api, device, CL_DEVICE_AVAILABLE) != CL_TRUE) {
      throw Failure(VECTIS_BACKEND_CREATION, name + " is not available: its driver states CL_DEVICE_AVAILABLE false",
                    VECTIS_REASON_NO_DEVICE);
    }
    state_.devices.push_back({platform, device, device_value<cl_device_type>(api, device, CL_DEVICE_TYPE), -1, {}});
  }

  // A driver that is too old comes before one that failed, and that before one without devices.
  [[nodiscard]] Failure best_explanation() const {
    const auto weight = [](const Failure& failure) {
      if (failure.reason() == VECTIS_REASON_DRIVER_TOO_OLD) return 2;
      return failure.reason() == VECTIS_REASON_NO_DEVICE ? 0 : 1;
    };
    return *std::max_element(failures_.begin(), failures_.end(),
                             [&](const Failure& a, const Failure& b) { return weight(a) < weight(b); });
  }

  VectisBackendState& state_;
  std::vector<Failure> failures_;
};

VectisDeviceKind kind_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return VECTIS_DEVICE_GPU;
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? VECTIS_DEVICE_CPU : VECTIS_DEVICE_ACCELERATOR;
}

// The extensions a device states.
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
  std::uint64_t bits = VECTIS_CAN_TIMESTAMPS;  // OpenCL requires every queue to support profiling
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
  plugin::copy_text(info.name, name);
  plugin::copy_text(info.vendor, device_text(api, device.id, CL_DEVICE_VENDOR));
  plugin::copy_text(info.driver, platform_text(api, device.platform, CL_PLATFORM_NAME) + " " +
                                     device_text(api, device.id, CL_DRIVER_VERSION));
  plugin::copy_text(info.dialects, compiler == CL_TRUE ? "opencl-c" : "");
  info.kind = kind_of(type);
  info.software = (type & CL_DEVICE_TYPE_CPU) != 0 || plugin::is_software_renderer(name) ? 1 : 0;
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

// Equal for a device and its sub-devices, different for all others.
std::string physical_id(std::uint32_t index, const ListedDevice& device) {
  return "opencl-" + std::to_string(device.parent < 0 ? static_cast<std::int64_t>(index) : device.parent);
}

}  // namespace

void find_devices(VectisBackendState& state) { DeviceSearch(state).run(); }

}  // namespace vectis::opencl

namespace vectis::plugin {

using namespace opencl;

void device_count(VectisBackendState* state, std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(state->devices.size());
}

void device_info(VectisBackendState* state, std::uint32_t index, VectisDeviceInfo* info) {
  const ListedDevice& device = device_at(state->devices, index);
  VectisDeviceInfo described{};
  describe_identity(state->api, device, described);
  describe_limits(state->api, device.id, described);
  copy_text(described.physical_id, physical_id(index, device));
  described.parent = device.parent;
  described.capabilities = capabilities(state->api, device.id);
  copy_info(described, info);
}

}  // namespace vectis::plugin
