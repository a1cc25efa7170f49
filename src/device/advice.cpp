#include "device/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "device/ranking.hpp"
#include "device/system.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// How to install a missing part of a backend, by distribution.
struct Remedy {
  std::string_view backend;
  BackendState state;
  std::array<std::string_view, 5> by_family;  // in the order of Family
};

constexpr std::string_view nvidia_module =
    "load NVIDIA's kernel modules (`sudo modprobe nvidia nvidia-uvm`) or reinstall its driver until `nvidia-smi` works";
constexpr std::string_view nvidia_device =
    "check that `nvidia-smi` lists the GPU; if it does not, `sudo dmesg | grep -i nvrm` says why the driver does not "
    "use it "
    "(an old GPU needs an older driver), and `lspci -d 10de:` shows whether the computer has one";
constexpr std::string_view amd_device =
    "check that `rocminfo` lists the GPU: ROCm does not know all of AMD's GPUs; the backends webgpu and opencl use "
    "others";
constexpr std::string_view amd_module = "load AMD's kernel module (`sudo modprobe amdgpu`) until `rocminfo` works";

constexpr std::array remedies = {
    Remedy{
        "cuda",
        BackendState::no_library,
        {"apt-get install nvidia-driver libcuda1 (from Debian's component non-free), then restart",
         "`sudo ubuntu-drivers install` installs NVIDIA's driver (on a server: `sudo ubuntu-drivers install --gpgpu`); "
         "or choose one that `ubuntu-drivers list` names, such as `sudo apt-get install nvidia-driver-550`; then "
         "restart",
         "install NVIDIA's driver (RPM Fusion: akmod-nvidia)", "pacman -S nvidia-utils",
         "install NVIDIA's driver (libcuda.so.1)"}},
    Remedy{
        "cuda", BackendState::no_driver, {nvidia_module, nvidia_module, nvidia_module, nvidia_module, nvidia_module}},
    Remedy{
        "cuda", BackendState::no_device, {nvidia_device, nvidia_device, nvidia_device, nvidia_device, nvidia_device}},
    Remedy{"hip",
           BackendState::no_library,
           {"apt-get install libamdhip64-5",
            "install AMD's ROCm (`sudo amdgpu-install --usecase=rocm`), or on Ubuntu 24.04 `sudo apt-get install "
            "libamdhip64-5`",
            "dnf install rocm-hip", "pacman -S hip-runtime-amd", "install AMD's ROCm (libamdhip64.so)"}},
    Remedy{"hip", BackendState::no_driver, {amd_module, amd_module, amd_module, amd_module, amd_module}},
    Remedy{"hip", BackendState::no_device, {amd_device, amd_device, amd_device, amd_device, amd_device}},
    Remedy{"opencl",
           BackendState::no_library,
           {"apt-get install ocl-icd-libopencl1", "apt-get install ocl-icd-libopencl1", "dnf install ocl-icd",
            "pacman -S ocl-icd", "install an OpenCL loader (libOpenCL.so.1)"}},
    Remedy{
        "opencl",
        BackendState::no_driver,
        {"install your GPU vendor's OpenCL driver (Intel: intel-opencl-icd, AMD: mesa-opencl-icd, NVIDIA: "
         "nvidia-opencl-icd)",
         "install your GPU vendor's OpenCL driver (Intel: intel-opencl-icd, AMD: mesa-opencl-icd, NVIDIA: it is part "
         "of nvidia-driver-<version>, by its package libnvidia-compute-<version>)",
         "install your GPU vendor's OpenCL driver (intel-compute-runtime, mesa-libOpenCL, or NVIDIA's)",
         "install your GPU vendor's OpenCL driver (intel-compute-runtime, opencl-mesa, opencl-nvidia)",
         "install your GPU vendor's OpenCL driver"}},
    Remedy{"webgpu",
           BackendState::no_driver,
           {"apt-get install mesa-vulkan-drivers libvulkan1 (AMD, Intel), or NVIDIA's driver",
            "apt-get install mesa-vulkan-drivers libvulkan1 (AMD, Intel), or NVIDIA's driver (`sudo ubuntu-drivers "
            "install`)",
            "dnf install mesa-vulkan-drivers vulkan-loader (AMD, Intel), or NVIDIA's driver",
            "pacman -S vulkan-icd-loader and vulkan-radeon, vulkan-intel or nvidia-utils",
            "install your GPU vendor's Vulkan driver"}},
};

// What a driver's own error means and what to do, for errors whose words do not say it.
struct KnownReason {
  std::string_view backend;
  std::string_view words;  // in the reason that the plug-in gives
  std::string_view advice;
};

constexpr std::array known_reasons = {
    KnownReason{"cuda", "(802)",
                "the GPUs are joined by NVSwitch, and NVIDIA's fabric manager does not run: install the package "
                "nvidia-fabricmanager of exactly the driver's version and `sudo systemctl enable --now "
                "nvidia-fabricmanager`; a virtual machine waits for that of its host"},
    KnownReason{"cuda", "(803)",
                "the driver's library and its kernel module have different versions, as after an update: restart the "
                "computer"},
    KnownReason{
        "cuda", "(804)",
        "a package for forward compatibility (cuda-compat-*, or a folder `compat` of a CUDA image) is in the "
        "library path, and works on data-center GPUs only: remove it from LD_LIBRARY_PATH, or update the driver"},
    KnownReason{"cuda", "(46)",
                "another process uses the GPU in exclusive mode: end it (`nvidia-smi` lists it), or allow several with "
                "`sudo nvidia-smi -c DEFAULT`"},
    KnownReason{"cuda", "exclusive",
                "the GPU is in exclusive mode and takes one process at a time: `sudo nvidia-smi -c DEFAULT` allows "
                "several"},
    KnownReason{"cuda", "prohibited", "the GPU is closed to computing: `sudo nvidia-smi -c DEFAULT` allows it"},
    KnownReason{"cuda", "MIG",
                "the GPU is divided into MIG instances, of which a process uses one: choose it by "
                "CUDA_VISIBLE_DEVICES=MIG-<uuid>; `nvidia-smi -L` lists them, `sudo nvidia-smi mig -cgi <profile> -C` "
                "creates one"},
    KnownReason{"opencl", "the linker `ld`",
                "set PATH to folders that hold `ld`, for example /usr/bin:/bin, or install binutils"},
};

bool lacks_gpu(BackendState state) {
  return state == BackendState::no_library || state == BackendState::no_driver || state == BackendState::no_device;
}

// A variable that hides GPUs from the drivers of the backend, if it is set to an empty list or a negative number.
std::string hidden_by_variable(const Os& os, const BackendProblem& problem) {
  std::vector<const char*> variables;
  if (problem.backend == "cuda") variables = {"CUDA_VISIBLE_DEVICES"};
  if (problem.backend == "hip") variables = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
  if (problem.state != BackendState::no_device) return {};
  for (const char* variable : variables) {
    const auto value = os.environment(variable);
    if (!value) continue;
    if (value->empty() || value->starts_with('-')) {
      return fmt::format("{}='{}' hides every GPU: unset it, or list GPUs by number, such as {}=0", variable, *value,
                         variable);
    }
    return fmt::format("{}={} names the only GPUs that are used: check that they exist, or unset it", variable, *value);
  }
  return {};
}

constexpr const char* wsl_library = "/usr/lib/wsl/lib/libcuda.so.1";

// In WSL2 the drivers are those of Windows.
std::string wsl_remedy(const Os& os, const BackendProblem& problem) {
  if (!is_wsl(os) || !lacks_gpu(problem.state)) return {};
  if (problem.backend == "cuda" && problem.state == BackendState::no_library &&
      os.access(wsl_library) != FileAccess::absent) {
    return fmt::format("this is WSL2, and its CUDA driver is {}: set LD_LIBRARY_PATH=/usr/lib/wsl/lib", wsl_library);
  }
  if (problem.backend == "cuda") {
    return "this is WSL2: install or update NVIDIA's driver in Windows, not in Linux, and restart WSL (`wsl --update`, "
           "`wsl --shutdown`); it puts libcuda.so.1 into /usr/lib/wsl/lib";
  }
  if (problem.backend == "hip") {
    return "this is WSL2: install AMD's driver in Windows, and in Linux its ROCm for WSL (`sudo amdgpu-install "
           "--usecase=wsl,rocm --no-dkms`)";
  }
  return {};
}

// In a container to which no GPU was given.
std::string container_remedy(const Os& os, const BackendProblem& problem) {
  if (!is_container(os) || !lacks_gpu(problem.state) || is_wsl(os)) return {};
  if (!device_nodes(os, problem.backend).empty()) return {};
  if (problem.backend == "cuda") {
    return "this container has no NVIDIA GPU: start it by `docker run --gpus all`, which needs NVIDIA's container "
           "toolkit "
           "on the host (Podman: `--device nvidia.com/gpu=all`)";
  }
  if (problem.backend == "hip") {
    return "this container has no AMD GPU: start it by `docker run --device /dev/kfd --device /dev/dri --group-add "
           "video` "
           "(Podman: add `--group-add keep-groups`)";
  }
  const bool needs_the_library = problem.state == BackendState::no_library;
  if (needs_the_library || (problem.backend != "opencl" && problem.backend != "webgpu")) return {};
  return "this container has no GPU: start it by `docker run --device /dev/dri` (AMD, Intel) or `docker run --gpus all "
         "-e "
         "NVIDIA_DRIVER_CAPABILITIES=all` (NVIDIA), and install the GPU's driver in its image";
}

// Mesa's rusticl offers no device until a variable names its drivers.
std::string rusticl_remedy(const Os& os, const BackendProblem& problem) {
  if (problem.backend != "opencl") return {};
  if (problem.state != BackendState::no_driver && problem.state != BackendState::no_device) return {};
  if (os.access("/etc/OpenCL/vendors/rusticl.icd") == FileAccess::absent || os.environment("RUSTICL_ENABLE")) return {};
  return "Mesa's OpenCL driver rusticl is installed, and offers only devices whose drivers RUSTICL_ENABLE names: set "
         "it to "
         "radeonsi (AMD), iris (Intel) or nouveau (NVIDIA)";
}

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
  if (std::string known = advice_for_words(problem.backend, problem.reason); !known.empty()) return known;
  for (const auto remedy : {hidden_by_variable, wsl_remedy, container_remedy, rusticl_remedy}) {
    if (std::string text = remedy(os, problem); !text.empty()) return text;
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

std::string advice_for_words(std::string_view backend, std::string_view words) {
  const auto* found = std::ranges::find_if(known_reasons, [&](const KnownReason& known) {
    return known.backend == backend && words.find(known.words) != std::string_view::npos;
  });
  return found == known_reasons.end() ? std::string() : std::string(found->advice);
}

BackendProblem refine(const Os& os, BackendProblem problem) {
  if (problem.state != BackendState::no_device && problem.state != BackendState::no_driver) return problem;
  const std::vector<std::string> denied = denied_nodes(os, problem.backend);
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

std::string software_advice(const Os& os, std::string_view backend) {
  const std::vector<std::string> denied = denied_nodes(os, backend);
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
  if (status.state == BackendState::ready) {
    const auto idle = std::ranges::find_if(
        status.devices, [](const Device& device) { return device.is_gpu() && !runs_kernels(device.info()); });
    return fmt::format("{}: {}", status.name,
                       idle == status.devices.end() ? software_advice(os, status.name) : why_no_kernels(*idle, status));
  }
  return why_unusable(os, BackendProblem{status.name, status.state, status.reason, status.install});
}

}  // namespace vectis::inline v0_1::detail
