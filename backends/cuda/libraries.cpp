// Where NVRTC and cuBLASLt are installed, and which versions of them fit the driver.
#include "libraries.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "vendor.hpp"

namespace vectis::cuda_hip {

namespace {

namespace fs = std::filesystem;

constexpr int oldest_major = 11;
constexpr int newest_major = 13;  // known: a newer driver runs its libraries too

// The folders in `parent` whose name starts with `prefix`, in reverse order of their names: newer versions first.
std::vector<fs::path> folders_in(const fs::path& parent, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

void add_folder(const fs::path& folder, LibraryPlaces& places) {
  std::error_code missing;
  if (!fs::is_directory(folder, missing)) return;
  const std::string text = folder.string();
  if (std::find(places.folders.begin(), places.folders.end(), text) == places.folders.end())
    places.folders.push_back(text);
}

void describe_place(const std::string& place, LibraryPlaces& places) {
  places.description += (places.description.empty() ? "" : ", ") + place;
}

// NVIDIA's wheels: nvidia/cuda_nvrtc and nvidia/cublas up to CUDA 12, nvidia/cu13 from CUDA 13 on.
void add_site_packages(const fs::path& site, LibraryPlaces& places) {
  for (const fs::path& wheel : folders_in(site / "nvidia", "cu")) add_folder(wheel / "lib", places);
}

// A prefix in which Python is installed.
void add_environment(const fs::path& prefix, LibraryPlaces& places) {
  for (const fs::path& python : folders_in(prefix / "lib", "python3"))
    add_site_packages(python / "site-packages", places);
}

// The folder site-packages that contains this plug-in, or an empty path. The system lists the files that the process
// has mapped, with the path at the end of each line.
fs::path own_site_packages() {
  std::ifstream mapped("/proc/self/maps");
  for (std::string line; std::getline(mapped, line);) {
    if (line.find("/libvectis_backend_cuda.so") == std::string::npos) continue;
    for (fs::path at = line.substr(line.find('/')); at.has_relative_path(); at = at.parent_path()) {
      if (at.filename() == "site-packages" || at.filename() == "dist-packages") return at;
    }
    break;
  }
  return {};
}

void add_toolkit(const char* variable, LibraryPlaces& places) {
  const char* const value = secure_getenv(variable);
  if (value == nullptr || *value == '\0') {
    describe_place(std::string(variable) + " (not set)", places);
    return;
  }
  for (const char* folder : {"lib64", "lib"}) add_folder(fs::path(value) / folder, places);
  describe_place(std::string(value) + "/{lib64,lib} (" + variable + ")", places);
}

}  // namespace

LibraryPlaces library_places() {
  LibraryPlaces places;
  constexpr const char* wheels = "/lib/python3*/site-packages/nvidia/cu*/lib";
  if (const char* const active = secure_getenv("VIRTUAL_ENV"); active != nullptr && *active != '\0') {
    add_environment(active, places);
    describe_place(active + std::string(wheels) + " (VIRTUAL_ENV)", places);
  } else {
    describe_place("VIRTUAL_ENV (not set)", places);
  }
  if (const fs::path site = own_site_packages(); !site.empty()) {
    add_site_packages(site, places);
    describe_place(site.string() + "/nvidia/cu*/lib", places);
  }
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  if (!unknown && program.has_parent_path()) {
    const fs::path prefix = program.parent_path().parent_path();
    add_environment(prefix, places);
    describe_place((prefix == "/" ? "" : prefix.string()) + wheels, places);
  }
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) add_toolkit(variable, places);
  for (const fs::path& toolkit : folders_in("/usr/local", "cuda")) add_folder(toolkit / "lib64", places);
  describe_place("/usr/local/cuda*/lib64", places);
  return places;
}

std::vector<std::string> versioned_libraries(const std::string& name, int driver_version) {
  std::vector<std::string> libraries;
  for (int major = driver_version / 1000; major >= oldest_major; --major)
    libraries.push_back(name + ".so." + std::to_string(major));
  return libraries;
}

// NVRTC of CUDA 11 has the name of 11.2, the first version with a stable interface.
std::vector<std::string> compiler_libraries(int driver_version) {
  std::vector<std::string> libraries = versioned_libraries("libnvrtc", driver_version);
  if (!libraries.empty()) libraries.back() += ".2";
  libraries.emplace_back("libnvrtc.so");
  for (int major = driver_version / 1000 + 1; major <= newest_major; ++major)
    libraries.push_back("libnvrtc.so." + std::to_string(major));
  return libraries;
}

// Wheels up to CUDA 12 have the major version in the name of the package.
std::string compiler_advice(int driver_version) {
  const std::string major = std::to_string(driver_version / 1000);
  const std::string package =
      driver_version < 13000 ? "nvidia-cuda-nvrtc-cu" + major : "nvidia-cuda-nvrtc==" + major + ".*";
  return "pip install " + package + " (for the driver's " + version_text(driver_version) +
         "), or set backends.cuda.compiler (VECTIS_BACKENDS_CUDA_COMPILER) to its file";
}

}  // namespace vectis::cuda_hip
