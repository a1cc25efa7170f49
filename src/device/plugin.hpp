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

// A plug-in that was found: the backend's name, taken from the file name libvectis_backend_<name>.so, and the path.
struct PluginFile {
  std::string name;  // from the file's name: libvectis_backend_<name>.so
  std::string path;
};

// Returns the places searched for plug-ins, without duplicates: the entries of the setting `backend_path`, then
// folders beside the library, then the installation. The folders may not exist.
std::vector<std::string> plugin_directories(const Os& os, const Settings& settings);

// Opens a library that Vectis uses where it is installed: by a name that the dynamic loader resolves or a path, and a
// name that it does not resolve in the places of plugin_directories(), since packages of Vectis may contain the
// library. Returns a null handle and the loader's message when there is none.
OpenedLibrary open_library(const Os& os, const Settings& settings, const std::string& name);

// Returns one sentence for each environment variable VECTIS_BACKENDS_<BACKEND>_<KEY> whose backend is neither installed
// nor of the automatic order, or whose key a shipped backend does not have, and for each entry of the setting
// `backend_path` that does not exist; empty when there is nothing to warn of.
std::vector<std::string> configuration_warnings(const Os& os, const Settings& settings);

// Returns the plug-in files in the places of plugin_directories(), one for each backend name: the first place wins.
// Places that do not exist are skipped; empty when no plug-in is found. Does not load the files.
std::vector<PluginFile> find_plugins(const Os& os, const Settings& settings);

// Returns the plug-in at `path`, which is not opened. The name is taken from libvectis_backend_<name>.so; for another
// file name it is the whole file name, and open_plugin() then reports the state misnamed.
PluginFile plugin_at(std::string path);

// Returns the position of a backend in the automatic order, smallest first: cuda, hip, metal, webgpu, opencl, all
// others, cpu. Others share one position. Does not throw.
int automatic_rank(std::string_view backend) noexcept;

// Returns the backends whose absence is reported: opencl, cuda when /dev has a node of NVIDIA, hip when /dev has the
// node kfd of AMD.
std::vector<std::string> shipped_plugins(const Os& os);

// The result of opening a backend. `core` and `devices` are set when status.state is ready, otherwise null and empty,
// with the reason in `status`. The registry assigns device ids and fills status.devices.
struct OpenedBackend {
  BackendStatus status;
  std::shared_ptr<BackendCore> core;
  std::vector<DeviceInfo> devices;  // `parent` is an index in this vector
};

// Loads the plug-in `file`, checks its table, opens it and reads its devices. `runtime` must outlive the result;
// `finder` looks up a backend that the plug-in wraps. A failure is a BackendState with a reason in the result
// (not_loadable, incompatible, misnamed, no_driver, ...), not an exception.
OpenedBackend open_plugin(Runtime& runtime, const PluginFile& file, HostServices::Finder finder);
// Opens the CPU backend that is linked into the library and reads its devices. `runtime` must outlive the result. A
// failure is a BackendState with a reason in the result, not an exception.
OpenedBackend open_builtin_cpu(Runtime& runtime);

}  // namespace vectis::inline v0_1::detail
