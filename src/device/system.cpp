#include "device/system.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace vectis::inline v0_1::detail {

namespace {

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

bool exists(const Os& os, const std::string& path) { return os.access(path) != FileAccess::absent; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Not /dev/nvidia-caps and its like, which are folders or belong to administrators.
bool is_nvidia_node(std::string_view name) {
  constexpr std::string_view card = "nvidia";
  if (name == "nvidiactl" || name == "nvidia-uvm") return true;
  return name.starts_with(card) && name.size() > card.size() && std::ranges::all_of(name.substr(card.size()), is_digit);
}

bool is_kfd(std::string_view name) { return name == "kfd"; }
bool is_render_node(std::string_view name) { return name.starts_with("renderD"); }

void add_nodes(const Os& os, const std::string& folder, bool (*wanted)(std::string_view),
               std::vector<std::string>& nodes) {
  for (const std::string& name : os.list_directory(folder)) {
    std::string path = folder + "/" + name;
    if (wanted(name) && os.is_character_device(path)) nodes.push_back(std::move(path));
  }
}

}  // namespace

std::string system_name(const Os& os) { return release_field(os, "PRETTY_NAME").value_or("an unknown system"); }

Family family(const Os& os) {
  const std::string ids = release_field(os, "ID").value_or("") + " " + release_field(os, "ID_LIKE").value_or("");
  const auto has = [&](std::string_view id) { return ids.find(id) != std::string::npos; };
  if (has("ubuntu")) return Family::ubuntu;  // before Debian, which Ubuntu names in ID_LIKE
  if (has("debian")) return Family::debian;
  if (has("fedora") || has("rhel")) return Family::fedora;
  return has("arch") ? Family::arch : Family::other;
}

bool is_wsl(const Os& os) { return exists(os, "/dev/dxg"); }

bool is_container(const Os& os) { return exists(os, "/.dockerenv") || exists(os, "/run/.containerenv"); }

std::vector<std::string> device_nodes(const Os& os, std::string_view backend) {
  std::vector<std::string> nodes;
  if (backend == "cuda") add_nodes(os, "/dev", is_nvidia_node, nodes);
  if (backend == "hip") add_nodes(os, "/dev", is_kfd, nodes);
  if (backend == "hip" || backend == "opencl" || backend == "webgpu") {
    add_nodes(os, "/dev/dri", is_render_node, nodes);
  }
  return nodes;
}

std::vector<std::string> denied_nodes(const Os& os, std::string_view backend) {
  std::vector<std::string> nodes = device_nodes(os, backend);
  std::erase_if(nodes, [&](const std::string& node) { return os.access(node) != FileAccess::denied; });
  return nodes;
}

}  // namespace vectis::inline v0_1::detail
