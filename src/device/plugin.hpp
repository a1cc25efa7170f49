// Finding plug-ins and opening them, each failure a state and a sentence.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cores.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/settings.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1::detail {

struct PluginFile {
  std::string name;  // from the file's name: libvectis_backend_<name>.so
  std::string path;
};

// Where plug-ins are looked for: `backend_path`, then beside the library, then where it was installed.
std::vector<std::string> plugin_directories(const Os& os, const Settings& settings);

// One file for each name; the first directory wins.
std::vector<PluginFile> find_plugins(const Os& os, const Settings& settings);

// The plug-in at `path`, with its name taken from the file.
PluginFile plugin_at(std::string path);

// Place in the automatic order; smaller comes first.
int automatic_rank(std::string_view backend) noexcept;

// The plug-ins of this version whose absence is worth a word: OpenCL, and those of makers whose cards this machine has.
std::vector<std::string> shipped_plugins(const Os& os);

// A backend after the attempt to open it: ready with its core and devices, or a status that says why not. The devices'
// ids and the status's handles are the registry's to set.
struct OpenedBackend {
  BackendStatus status;
  std::shared_ptr<BackendCore> core;
  std::vector<DeviceInfo> devices;  // `parent` is an index in this vector
};

// Never throws for anything the plug-in does short of crashing.
OpenedBackend open_plugin(Runtime& runtime, const PluginFile& file, HostServices::Finder finder);
OpenedBackend open_builtin_cpu(Runtime& runtime);

}  // namespace vectis::inline v0_1::detail
