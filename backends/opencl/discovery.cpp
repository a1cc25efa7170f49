#include "discovery.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "query.hpp"
#include "status.hpp"

namespace vectis::opencl {

namespace {

constexpr cl_int platform_not_found = -1001;  // CL_PLATFORM_NOT_FOUND_KHR, the loader's answer when it knows no driver

std::vector<cl_platform_id> platforms(const Api& api) {
  cl_uint count = 0;
  const cl_int code = api.GetPlatformIDs(0, nullptr, &count);
  if (code == platform_not_found || (code == CL_SUCCESS && count == 0)) {
    throw Failure(VECTIS_BACKEND_CREATION, "the OpenCL loader knows no driver: clGetPlatformIDs found no platform",
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

class Search {
 public:
  explicit Search(VectisBackendState& state) : state_(state) {}

  void run() {
    for (cl_platform_id platform : platforms(state_.api)) {
      attempt([&] { add_platform(platform); });
    }
    if (state_.devices.empty()) throw most_telling();
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
    const std::string name = "the OpenCL platform '" + platform_text(api, platform, CL_PLATFORM_NAME) + "'";
    require_version(name, platform_text(api, platform, CL_PLATFORM_VERSION));
    const std::vector<cl_device_id> devices = devices_of(api, platform);
    if (devices.empty()) {
      throw Failure(VECTIS_BACKEND_CREATION, name + " offers no device", VECTIS_REASON_NO_DEVICE);
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
      throw Failure(VECTIS_BACKEND_CREATION, name + " is not available, says its driver", VECTIS_REASON_NO_DEVICE);
    }
    state_.devices.push_back({platform, device, -1, {}});
  }

  // A driver that is too old first, then one that failed, then one without devices.
  [[nodiscard]] Failure most_telling() const {
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

}  // namespace

void find_devices(VectisBackendState& state) { Search(state).run(); }

const ListedDevice& device_at(const VectisBackendState& state, std::uint32_t index) {
  if (index < state.devices.size()) return state.devices[index];
  throw Failure(VECTIS_INVALID_INPUT, "there is no device " + std::to_string(index) + ", the backend has " +
                                          std::to_string(state.devices.size()));
}

}  // namespace vectis::opencl
