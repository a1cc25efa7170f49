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
#include "pci.hpp"
#include "query.hpp"

namespace vectis::opencl {

namespace {

bool has_file(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

constexpr cl_int platform_not_found = -1001;  // CL_PLATFORM_NOT_FOUND_KHR: the loader found no driver

constexpr std::string_view pocl_name = "Portable Computing Language";
constexpr std::string_view rusticl_name = "rusticl";

// Mesa's rusticl lists only the devices of drivers that the user enables.
constexpr const char* rusticl_hint =
    "; rusticl offers only devices of the Mesa drivers that RUSTICL_ENABLE names: set RUSTICL_ENABLE=radeonsi (AMD), "
    "iris (Intel), nouveau (NVIDIA) or llvmpipe (CPU)";

// Whether rusticl is registered in the folder from which the loader reads its drivers.
bool has_rusticl_file() {
  for (const char* const variable : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"}) {
    const char* const folder = std::getenv(variable);
    if (folder != nullptr && *folder != '\0') return has_file(std::filesystem::path(folder) / "rusticl.icd");
  }
  return has_file(std::filesystem::path("/etc/OpenCL/vendors/rusticl.icd"));
}

std::vector<cl_platform_id> platforms(const Api& api) {
  cl_uint count = 0;
  const cl_int code = api.GetPlatformIDs(0, nullptr, &count);
  const bool none = code == platform_not_found || (code == CL_SUCCESS && count == 0);
  if (none && has_rusticl_file()) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string("the OpenCL loader found rusticl, which offers no platform") + rusticl_hint,
                  VECTIS_REASON_NO_DEVICE);
  }
  if (none) {
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

// Why a platform of this name may offer no device; empty for most.
std::string hint_without_devices(const std::string& title) {
  if (title == pocl_name) {
    return "; PoCL offers none when it cannot write its cache folder: set POCL_CACHE_DIR to a writable folder";
  }
  return title == rusticl_name ? rusticl_hint : "";
}

// Whether a folder of PATH holds the linker `ld`.
bool has_linker() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && has_file(std::filesystem::path(folder) / "ld")) return true;
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
      throw Failure(VECTIS_BACKEND_CREATION, name + " offers no device" + hint_without_devices(title),
                    VECTIS_REASON_NO_DEVICE);
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
  const auto compiler = device_value<cl_bool>(api, device.id, CL_DEVICE_COMPILER_AVAILABLE);
  plugin::copy_text(info.name, name);
  plugin::copy_text(info.vendor, device_text(api, device.id, CL_DEVICE_VENDOR));
  plugin::copy_text(info.driver, platform_text(api, device.platform, CL_PLATFORM_NAME) + " " +
                                     device_text(api, device.id, CL_DRIVER_VERSION));
  plugin::copy_text(info.dialects, compiler == CL_TRUE ? "opencl-c" : "");
  info.kind = kind_of(device.type);
  info.software = (device.type & CL_DEVICE_TYPE_CPU) != 0 || plugin::is_software_renderer(name) ? 1 : 0;
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

// Equal for a device and its sub-devices, and for the same card in other backends; different for all others.
std::string physical_id(const VectisBackendState& state, std::uint32_t index) {
  const std::int32_t parent = state.devices[index].parent;
  const std::uint32_t root = parent < 0 ? index : static_cast<std::uint32_t>(parent);
  const cl_device_id device = state.devices[root].id;
  return pci_id(state.api, device).value_or("opencl-" + std::to_string(root));
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
  copy_text(described.physical_id, physical_id(*state, index));
  described.parent = device.parent;
  described.capabilities = capabilities(state->api, device.id);
  copy_info(described, info);
}

}  // namespace vectis::plugin
