#include "ptx.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "compile.hpp"
#include "control.hpp"

namespace vectis::test_driver {

namespace {

constexpr int invalid_ptx = 218;
constexpr int unsupported_ptx_version = 222;

// Bytes of each parameter, by kernel.
using PtxKernels = std::map<std::string, std::vector<unsigned>>;

std::string texts_folder() {
  const char* folder = std::getenv("VECTIS_TEST_DRIVER_TEXTS");
  return folder == nullptr ? VECTIS_TEST_DRIVER_TEXTS : folder;
}

std::smatch need(const std::string& ptx, const char* pattern) {
  std::smatch found;
  if (!std::regex_search(ptx, found, std::regex(pattern))) throw Refusal{invalid_ptx};
  return found;
}

// What PTX a driver of this CUDA reads, as 10 * major + minor: 7.x by CUDA 11.x, 8.x by 12.x, one behind from 12.6 on.
int newest_ptx(int driver_version) {
  const int major = driver_version / 1000;
  const int minor = driver_version % 1000 / 10;
  return 10 * (major - 4) + (major == 12 && minor >= 6 ? minor - 1 : minor);
}

unsigned bytes_of_parameter(const std::string& declaration) {
  static const std::regex type(R"(\.[usbf](8|16|32|64)\s+[\w$]+(?:\[(\d+)\])?\s*$)");
  std::smatch found;
  if (!std::regex_search(declaration, found, type)) throw Refusal{invalid_ptx};
  const unsigned long count = found[2].matched ? std::stoul(found[2].str()) : 1;
  return static_cast<unsigned>(std::stoul(found[1].str()) / 8 * count);
}

PtxKernels kernels_of(const std::string& ptx) {
  static const std::regex entry(R"(\.visible\s+\.entry\s+([\w$]+)\s*\(([^)]*)\))");
  PtxKernels kernels;
  for (std::sregex_iterator found(ptx.begin(), ptx.end(), entry), end; found != end; ++found) {
    std::vector<unsigned>& bytes = kernels[(*found)[1].str()];
    std::istringstream parameters((*found)[2].str());
    for (std::string one; std::getline(parameters, one, ',');) {
      if (one.find(".param") != std::string::npos) bytes.push_back(bytes_of_parameter(one));
    }
  }
  return kernels;
}

std::string hash_of_text(const std::string& text) {  // FNV-1a, by which the plug-in finds it too
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  char name[20];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  return name;
}

// The CUDA C++ with this hash, as the build left it.
std::string text_of(const std::string& hash) {
  std::error_code missing;
  for (const auto& file : std::filesystem::directory_iterator(texts_folder(), missing)) {
    if (!file.path().filename().string().ends_with("-" + hash + ".cu")) continue;
    std::ifstream in(file.path(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (hash_of_text(text) == hash) return text;
  }
  throw Refusal{invalid_ptx};
}

PtxKernels kernels_of(const Module& module) {
  PtxKernels kernels;
  for (unsigned i = 0; i < module.get().kernel_count; ++i) {
    const VtdKernel& kernel = module.get().kernels[i];
    kernels[kernel.name] = {kernel.bytes, kernel.bytes + kernel.parameter_count};
  }
  return kernels;
}

// The module of PTX, and the hash of its host code.
std::pair<std::shared_ptr<Module>, std::string> compile_ptx(const char* image, int architecture, int driver_version) {
  const std::string ptx = image;
  const std::smatch version = need(ptx, R"((?:^|\n)\.version (\d+)\.(\d+)\n)");
  const int target = std::stoi(need(ptx, R"(\n\.target sm_(\d+)\n)")[1].str());
  const std::string hash = need(ptx, R"(^// vectis text ([0-9a-f]{16})\n)")[1].str();
  if (10 * std::stoi(version[1].str()) + std::stoi(version[2].str()) > newest_ptx(driver_version))
    throw Refusal{unsupported_ptx_version};
  const CompileResult host =
      compile_kernels(text_of(hash), {"__CUDACC_RTC__", "__CUDA_ARCH__=" + std::to_string(10 * target)});
  if (!host.compiled) throw Refusal{invalid_ptx};
  auto module = std::make_shared<Module>(Image{"ptx", target, host.hash}, architecture);
  if (kernels_of(ptx) != kernels_of(*module))
    refuse(invalid_ptx, "PTX whose kernels or their parameters are not those of the text " + hash);
  return {module, host.hash};
}

}  // namespace

bool is_ptx(const char* image) { return image != nullptr && (image[0] == '/' || image[0] == '.'); }

std::shared_ptr<Module> load_ptx(const char* image, int architecture, int driver_version) {
  return compile_ptx(image, architecture, driver_version).first;
}

std::string assemble_ptx(const char* image, int architecture, int driver_version) {
  return image_text({"cubin", architecture, compile_ptx(image, architecture, driver_version).second});
}

}  // namespace vectis::test_driver
