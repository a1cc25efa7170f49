#include "device/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

namespace vectis::inline v0_1::detail {

namespace {

// Linux distributions by package manager.
enum class Family { debian, fedora, arch, other };

std::optional<std::string> release_field(const Os& os, std::string_view key) {
  std::istringstream lines(os.read_file("/etc/os-release").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=') continue;
    std::string value = line.substr(key.size() + 1);
    std::erase(value, '"');
    return value;
  }
  return std::nullopt;
}

Family family(const Os& os) {
  const std::string ids = release_field(os, "ID").value_or("") + " " + release_field(os, "ID_LIKE").value_or("");
  if (ids.find("debian") != std::string::npos || ids.find("ubuntu") != std::string::npos) return Family::debian;
  if (ids.find("fedora") != std::string::npos || ids.find("rhel") != std::string::npos) return Family::fedora;
  if (ids.find("arch") != std::string::npos) return Family::arch;
  return Family::other;
}

// How to install a missing part of a backend, by distribution.
struct Remedy {
  std::string_view backend;
  BackendState state;
  std::array<std::string_view, 4> by_family;  // in the order of Family
};

constexpr std::string_view opencl_gpu_drivers =
    "install your GPU vendor's OpenCL driver (Intel: intel-opencl-icd, AMD: mesa-opencl-icd, NVIDIA: "
    "nvidia-opencl-icd)";

constexpr std::string_view nvidia_module =
    "load NVIDIA's kernel modules (`sudo modprobe nvidia nvidia-uvm`) or reinstall its driver until `nvidia-smi` works";
constexpr std::string_view amd_module = "load AMD's kernel module (`sudo modprobe amdgpu`) until `rocminfo` works";

constexpr std::array remedies = {
    Remedy{"cuda",
           BackendState::no_library,
           {"apt-get install nvidia-driver libcuda1", "install NVIDIA's driver (RPM Fusion: akmod-nvidia)",
            "pacman -S nvidia-utils", "install NVIDIA's driver (libcuda.so.1)"}},
    Remedy{"cuda", BackendState::no_driver, {nvidia_module, nvidia_module, nvidia_module, nvidia_module}},
    Remedy{"hip",
           BackendState::no_library,
           {"apt-get install libamdhip64-5", "dnf install rocm-hip", "pacman -S hip-runtime-amd",
            "install AMD's ROCm (libamdhip64.so)"}},
    Remedy{"hip", BackendState::no_driver, {amd_module, amd_module, amd_module, amd_module}},
    Remedy{"opencl",
           BackendState::no_library,
           {"apt-get install ocl-icd-libopencl1", "dnf install ocl-icd", "pacman -S ocl-icd",
            "install an OpenCL loader (libOpenCL.so.1)"}},
    Remedy{"opencl",
           BackendState::no_driver,
           {opencl_gpu_drivers,
            "install your GPU vendor's OpenCL driver (intel-compute-runtime, mesa-libOpenCL, or NVIDIA's)",
            "install your GPU vendor's OpenCL driver (intel-compute-runtime, opencl-mesa, opencl-nvidia)",
            "install your GPU vendor's OpenCL driver"}},
    Remedy{"webgpu",
           BackendState::no_driver,
           {"apt-get install mesa-vulkan-drivers libvulkan1 (AMD, Intel), or NVIDIA's driver",
            "dnf install mesa-vulkan-drivers vulkan-loader (AMD, Intel), or NVIDIA's driver",
            "pacman -S vulkan-icd-loader and vulkan-radeon, vulkan-intel or nvidia-utils",
            "install your GPU vendor's Vulkan driver"}},
};

std::optional<std::string> known_remedy(const Os& os, const BackendProblem& problem) {
  const auto* found = std::ranges::find_if(remedies, [&](const Remedy& remedy) {
    return remedy.backend == problem.backend && remedy.state == problem.state;
  });
  if (found == remedies.end()) return std::nullopt;
  return std::string(found->by_family[static_cast<std::size_t>(family(os))]);
}

// Advice that depends only on the state.
std::string general_remedy(const BackendProblem& problem) {
  switch (problem.state) {
    case BackendState::not_installed:
      return "install the package that contains it, or set VECTIS_BACKEND_PATH to its folder";
    case BackendState::not_loadable:
      return "rebuild or reinstall the plug-in";
    case BackendState::incompatible:
      return "rebuild the plug-in with the headers of this Vectis";
    case BackendState::misnamed:
      return "rename the file to libvectis_backend_<the table's name>.so, or correct the name in the plug-in's table";
    case BackendState::crashed:
      return "remove or update the plug-in, and report the crash to its author";
    case BackendState::no_device:
      return "check that the device is enabled and its kernel driver is loaded";
    case BackendState::driver_too_old:
      return "update the driver";
    case BackendState::no_permission:
      return "add yourself to the group that owns it (`sudo usermod -aG render,video $USER`) and log in again";
    default:
      return {};
  }
}

constexpr std::string_view set_cache_folder = "set POCL_CACHE_DIR or XDG_CACHE_HOME to a writable folder";

// PoCL and other OpenCL drivers offer no device when they cannot write to their cache folder. Empty when the folder is
// writable or the problem is another.
std::string cache_hint(const Os& os, const BackendProblem& problem) {
  const bool may_be_the_cache = problem.state == BackendState::no_driver || problem.state == BackendState::no_device ||
                                problem.state == BackendState::failed;
  if (problem.backend != "opencl" || !may_be_the_cache) return {};
  for (const char* variable : {"POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
    const auto folder = os.environment(variable);
    if (!folder || folder->empty()) continue;
    const FileAccess access = os.access(*folder);
    if (access == FileAccess::granted) return {};
    return fmt::format(
        "the folder {} ({}) {}, and a driver that caches compiled kernels there, such as "
        "PoCL, then offers no device: {}",
        *folder, variable, access == FileAccess::absent ? "does not exist" : "is not writable", set_cache_folder);
  }
  return {};
}

// The wgpu-native that `./dev setup` installed in build/venv, when this library lies in a build folder of that tree
// (build/<preset>/lib); empty when there is none.
std::string installed_by_setup(const Os& os) {
  const std::string packages = os.module_directory() + "/../../venv/lib";
  for (const std::string& python : os.list_directory(packages)) {
    const std::string folder = fmt::format("{}/{}/site-packages/wgpu/resources", packages, python);
    for (const std::string& file : os.list_directory(folder)) {
      if (file.starts_with("libwgpu_native")) return std::filesystem::path(folder + "/" + file).lexically_normal();
    }
  }
  return {};
}

std::string remedy_for(const Os& os, const BackendProblem& problem) {
  if (problem.backend == "opencl" && problem.reason.find("the linker `ld`") != std::string::npos) {
    return "set PATH to folders that hold `ld`, for example /usr/bin:/bin, or install binutils";
  }
  if (problem.backend == "opencl" && problem.reason.find("POCL_CACHE_DIR") != std::string::npos) {
    return std::string(set_cache_folder);
  }
  if (problem.backend == "webgpu" && problem.state == BackendState::no_library) {
    const std::string library = installed_by_setup(os);
    if (!library.empty()) return "use the one that ./dev setup installed: VECTIS_BACKENDS_WEBGPU_LIBRARY=" + library;
  }
  if (auto known = known_remedy(os, problem)) return *known;
  const bool driver_problem = problem.state == BackendState::no_library || problem.state == BackendState::no_driver;
  if (driver_problem || problem.state == BackendState::failed) return problem.install;
  return general_remedy(problem);
}

}  // namespace

std::string system_name(const Os& os) { return release_field(os, "PRETTY_NAME").value_or("an unknown system"); }

std::vector<std::string> denied_nodes(const Os& os) {
  std::vector<std::string> nodes;
  for (const std::string& name : os.list_directory("/dev/dri")) {
    if (name.starts_with("renderD")) nodes.push_back("/dev/dri/" + name);
  }
  for (const std::string& name : os.list_directory("/dev")) {
    if (name == "kfd" || name.starts_with("nvidia")) nodes.push_back("/dev/" + name);
  }
  std::erase_if(nodes, [&](const std::string& node) { return os.access(node) != FileAccess::denied; });
  return nodes;
}

BackendProblem refine(const Os& os, BackendProblem problem) {
  if (problem.state != BackendState::no_device && problem.state != BackendState::no_driver) return problem;
  const std::vector<std::string> denied = denied_nodes(os);
  if (denied.empty()) return problem;
  problem.state = BackendState::no_permission;
  problem.reason = fmt::format("{} exists, but this user may not open it", fmt::join(denied, ", "));
  return problem;
}

std::string advice(const Os& os, const BackendProblem& problem) {
  const std::string hint = cache_hint(os, problem);
  const std::string remedy = remedy_for(os, problem);
  if (remedy == set_cache_folder && !hint.empty()) return hint;  // which ends with this remedy
  return hint.empty() ? remedy : fmt::format("{}{}{}", hint, remedy.empty() ? "" : "; otherwise ", remedy);
}

std::string software_advice(const Os& os) {
  const std::vector<std::string> denied = denied_nodes(os);
  std::string permission;
  if (!denied.empty()) permission = fmt::format("; this user may not open {}", fmt::join(denied, ", "));
  return "a software driver computes on the CPU and is used only on request: set VECTIS_GPU_ALLOW_SOFTWARE=1 or name "
         "the device" +
         permission;
}

std::string why_unusable(const Os& os, const BackendProblem& problem) {
  const BackendProblem refined = refine(os, problem);
  const std::string what_to_do = advice(os, refined);
  return fmt::format("{}: {}: {}{}{}", refined.backend, name(refined.state), refined.reason,
                     what_to_do.empty() ? "" : "; ", what_to_do);
}

std::string why_unusable(const Os& os, const BackendStatus& status) {
  if (status.state == BackendState::ready) return fmt::format("{}: {}", status.name, software_advice(os));
  return why_unusable(os, BackendProblem{status.name, status.state, status.reason, status.install});
}

}  // namespace vectis::inline v0_1::detail
