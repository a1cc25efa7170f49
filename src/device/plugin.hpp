// Finds plug-ins and opens them. A failure is a BackendState with one sentence, never an exception.
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

// The folders searched for plug-ins: `backend_path`, then beside the library, then the installation.
std::vector<std::string> plugin_directories(const Os& os, const Settings& settings);

// One sentence for each entry of the setting `backend_path` that does not exist.
std::vector<std::string> backend_path_warnings(const Os& os, const Settings& settings);

// The plug-in files in those folders, one for each name: the first folder wins.
std::vector<PluginFile> find_plugins(const Os& os, const Settings& settings);

// The plug-in at `path`; its name is taken from the file name.
PluginFile plugin_at(std::string path);

// Position of a backend in the automatic order, smallest first.
int automatic_rank(std::string_view backend) noexcept;

// The shipped plug-ins whose absence is reported: OpenCL, and those of vendors whose GPUs this machine has.
std::vector<std::string> shipped_plugins(const Os& os);

// The result of opening a backend: a core and devices when status.state is ready, else neither. The registry assigns
// device ids and fills status.devices.
struct OpenedBackend {
  BackendStatus status;
  std::shared_ptr<BackendCore> core;
  std::vector<DeviceInfo> devices;  // `parent` is an index in this vector
};

// Loads the plug-in, checks its table and opens it. Never throws for anything that the plug-in does.
OpenedBackend open_plugin(Runtime& runtime, const PluginFile& file, HostServices::Finder finder);
OpenedBackend open_builtin_cpu(Runtime& runtime);

}  // namespace vectis::inline v0_1::detail
