// A backend with scripted answers, which the registry loads through a FakeOs as a plug-in file.
//
//   auto& cuda = ScriptedBackend<0>::install(os, "cuda");
//   cuda.devices = {gpu("H100")};
#pragma once

#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_os.hpp"
#include "vectis/device/backend.h"

namespace vectis::test {

inline VectisDeviceInfo scripted_device(const std::string& name, VectisDeviceKind kind, bool software = false,
                                        int parent = -1) {
  VectisDeviceInfo info{};
  info.size = sizeof(info);
  std::snprintf(info.name, sizeof(info.name), "%s", name.c_str());
  std::snprintf(info.driver, sizeof(info.driver), "driver 1.0");
  std::snprintf(info.dialects, sizeof(info.dialects), "opencl-c");
  info.kind = kind;
  info.software = software ? 1 : 0;
  info.parent = parent;
  info.memory_bytes = info.allocation_bytes_max = 1 << 20;
  return info;
}
inline VectisDeviceInfo gpu(const std::string& name, int parent = -1) {
  return scripted_device(name, VECTIS_DEVICE_GPU, false, parent);
}
inline VectisDeviceInfo software(const std::string& name) { return scripted_device(name, VECTIS_DEVICE_CPU, true); }

struct Script {
  std::string name;
  std::string requirement = "a driver";
  std::string install;
  std::vector<VectisDeviceInfo> devices;
  VectisStatus open_status = VECTIS_OK;
  VectisReason open_reason = VECTIS_REASON_NONE;
  std::string open_message;
  VectisStatus count_status = VECTIS_OK;
  VectisStatus info_status = VECTIS_OK;
  std::set<std::uint32_t> refusing_contexts;
  int opened = 0;
  int closed = 0;
};

// `Number` distinguishes several backends, since a C table has no state. One thread at a time.
template <int Number>
class ScriptedBackend {
 public:
  // Installs the plug-in in the first folder that the registry searches, with an empty script.
  static Script& install(FakeOs& os, const std::string& name) {
    script = Script{};
    script.name = name;
    const std::string file = "libvectis_backend_" + name + ".so";
    const std::string folder = os.module + "/vectis/backends";
    os.directories[folder].push_back(file);
    os.libraries[folder + "/" + file].symbols[VECTIS_ENTRY_NAME] = reinterpret_cast<void*>(&entry);
    return script;
  }

  static const VectisBackend* entry() {
    table = VectisBackend{};
    table.size = sizeof(table);
    table.abi_major = VECTIS_ABI_MAJOR;
    table.abi_minor = VECTIS_ABI_MINOR;
    table.name = script.name.c_str();
    table.version = "1";
    table.requirement = script.requirement.c_str();
    table.install = script.install.c_str();
    table.open = open;
    table.close = [](VectisBackendState*) { ++script.closed; };
    table.device_count = device_count;
    table.device_info = device_info;
    table.context_create = context_create;
    table.context_destroy = [](VectisContext*) {};
    fill_unused();
    return &table;
  }

  static inline Script script;
  static inline VectisBackend table;

 private:
  static VectisStatus say(VectisMessage* message, VectisStatus status, const std::string& text) {
    if (status != VECTIS_OK) std::snprintf(message->text, message->capacity, "%s", text.c_str());
    return status;
  }
  static VectisStatus open(const VectisHost*, VectisBackendState** state, VectisMessage* message) {
    message->reason = script.open_reason;
    if (script.open_status == VECTIS_OK) {
      ++script.opened;
      *state = reinterpret_cast<VectisBackendState*>(&script);
    }
    return say(message, script.open_status, script.open_message);
  }
  static VectisStatus device_count(VectisBackendState*, std::uint32_t* count, VectisMessage* message) {
    *count = static_cast<std::uint32_t>(script.devices.size());
    return say(message, script.count_status, "the count failed");
  }
  static VectisStatus device_info(VectisBackendState*, std::uint32_t index, VectisDeviceInfo* info,
                                  VectisMessage* message) {
    *info = script.devices[index];
    return say(message, script.info_status, "");
  }
  static VectisStatus context_create(VectisBackendState*, std::uint32_t index, VectisContext** context,
                                     VectisMessage* message) {
    if (script.refusing_contexts.contains(index)) return say(message, VECTIS_BACKEND_CREATION, "the device is in use");
    *context = reinterpret_cast<VectisContext*>(&script);
    return VECTIS_OK;
  }
  // Required slots that these tests never call.
  static void fill_unused() {
    table.memory_allocate = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.memory_free = [](auto...) {};
    table.stream_create = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.stream_destroy = [](auto...) {};
    table.stream_synchronize = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.copy_to_device = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.copy_to_host = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.copy_on_device = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.event_create = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.event_destroy = [](auto...) {};
    table.event_record = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.event_query = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.event_synchronize = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
    table.stream_wait_event = [](auto...) { return VectisStatus{VECTIS_UNSUPPORTED}; };
  }
};

}  // namespace vectis::test
