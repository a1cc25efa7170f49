// The operating system and its GPU device nodes, as the files of the Os interface describe them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/os.hpp"

namespace vectis::inline v0_1::detail {

// Linux distributions by the names of their packages.
enum class Family : std::uint8_t { debian, ubuntu, fedora, arch, other };

// Returns the operating system's name from /etc/os-release, such as "Debian GNU/Linux 12 (bookworm)"; "an unknown
// system" when the file does not name it.
[[nodiscard]] std::string system_name(const Os& os);
// Returns the family of the distribution, by the fields ID and ID_LIKE of /etc/os-release.
[[nodiscard]] Family family(const Os& os);
// Returns whether this Linux runs in WSL2, where GPUs are reached by /dev/dxg and the drivers of Windows.
[[nodiscard]] bool is_wsl(const Os& os);
// Returns whether this is a container of Docker or Podman.
[[nodiscard]] bool is_container(const Os& os);

// Returns the paths of the character devices by which the drivers of `backend` reach a GPU: /dev/nvidia<number>,
// /dev/nvidiactl and /dev/nvidia-uvm for "cuda"; /dev/kfd and /dev/dri/renderD* for "hip"; /dev/dri/renderD* for
// "opencl" and "webgpu"; none for others.
[[nodiscard]] std::vector<std::string> device_nodes(const Os& os, std::string_view backend);
// Returns those of device_nodes() that this user may not open.
[[nodiscard]] std::vector<std::string> denied_nodes(const Os& os, std::string_view backend);

}  // namespace vectis::inline v0_1::detail
