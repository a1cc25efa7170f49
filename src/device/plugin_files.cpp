#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "device/plugin.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::string_view file_prefix = "libvectis_backend_";
constexpr std::string_view file_suffix = ".so";

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool is_plugin_name(std::string_view file) {
  return file.size() > file_prefix.size() + file_suffix.size() && file.starts_with(file_prefix) &&
         file.ends_with(file_suffix);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

PluginFile plugin_at(std::string path) {
  std::string name = base_name(path);
  if (is_plugin_name(name))
    name = name.substr(file_prefix.size(), name.size() - file_prefix.size() - file_suffix.size());
  return {std::move(name), std::move(path)};
}

std::vector<std::string> plugin_directories(const Os& os, const Settings& settings) {
  std::vector<std::string> directories = split(settings.text("backend_path"), ':');
  const std::string module = os.module_directory();
  directories.push_back(module + "/vectis/backends");         // beside the shared library
  directories.push_back(module + "/../lib/vectis/backends");  // beside a program that holds the static one
  directories.emplace_back(VECTIS_INSTALLED_BACKENDS);
  std::set<std::string> seen;
  for (std::string& directory : directories) directory = std::filesystem::path(directory).lexically_normal();
  std::erase_if(directories, [&](const std::string& directory) { return !seen.insert(directory).second; });
  return directories;
}

std::vector<PluginFile> find_plugins(const Os& os, const Settings& settings) {
  std::vector<PluginFile> found;
  std::set<std::string> names;
  const auto add = [&](std::string path) {
    PluginFile file = plugin_at(std::move(path));
    if (names.insert(file.name).second) found.push_back(std::move(file));
  };
  for (const std::string& place : plugin_directories(os, settings)) {
    if (is_plugin_name(base_name(place))) {
      add(place);  // `backend_path` may name a file
      continue;
    }
    for (const std::string& name : os.list_directory(place)) {
      if (is_plugin_name(name)) add(place + "/" + name);
    }
  }
  return found;
}

int automatic_rank(std::string_view backend) noexcept {
  constexpr std::array<std::string_view, 5> known = {"cuda", "hip", "metal", "webgpu", "opencl"};
  if (backend == "cpu") return static_cast<int>(known.size()) + 1;
  return static_cast<int>(std::ranges::find(known, backend) - known.begin());
}

std::vector<std::string> shipped_plugins(const Os& os) {
  std::vector<std::string> names{"opencl"};
  const auto is_nvidias = [](const std::string& node) { return node.starts_with("nvidia"); };
  const std::vector<std::string> nodes = os.list_directory("/dev");
  if (std::ranges::any_of(nodes, is_nvidias)) names.emplace_back("cuda");
  if (std::ranges::find(nodes, "kfd") != nodes.end()) names.emplace_back("hip");
  return names;
}

}  // namespace vectis::inline v0_1::detail
