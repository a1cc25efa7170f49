// vectis-spirv: embeds the built-in kernels in the WebGPU plug-in when Vectis is built (backends/webgpu/spirv). Not
// installed.
//
//   vectis-spirv print FOLDER        each text as NAME-HASH.comp, where HASH is what the plug-in will look it up by,
//   and
//                                    the compiler's options as options.txt; the folder holds no other *.comp afterwards
//   vectis-spirv embed FOLDER FILE   what glslc made of them (NAME-HASH.comp.spv) as one C++ source
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "prebuilt/texts.hpp"
#include "vectis/base/error.hpp"

namespace {

namespace files = std::filesystem;
using vectis::prebuilt::hash_of;
using vectis::prebuilt::read;

constexpr const char* extension = ".comp";
constexpr std::size_t header_words = 5;
constexpr std::uint32_t magic = 0x07230203;

// A module without the names of things and of its source: half of its words, which no driver reads.
std::vector<std::uint32_t> without_names(const std::vector<std::uint32_t>& module) {
  constexpr std::uint32_t first_debug = 3;  // OpSource, OpSourceExtension, OpName, OpMemberName
  constexpr std::uint32_t last_debug = 6;
  std::vector<std::uint32_t> kept(module.begin(), module.begin() + header_words);
  for (std::size_t at = header_words; at < module.size();) {
    const std::uint32_t opcode = module[at] & 0xffffU;
    const std::size_t count = std::max(module[at] >> 16U, 1U);
    const std::size_t end = std::min(at + count, module.size());
    if (opcode < first_debug || opcode > last_debug) {
      kept.insert(kept.end(), module.begin() + static_cast<std::ptrdiff_t>(at),
                  module.begin() + static_cast<std::ptrdiff_t>(end));
    }
    at = end;
  }
  return kept;
}

std::vector<std::uint32_t> read_module(const files::path& file) {
  const std::string bytes = read(file);
  std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  if (words.size() < header_words || words.front() != magic) {
    throw vectis::Error(vectis::ErrorCode::io, "spirv",
                        fmt::format("{} is no SPIR-V of this machine's byte order; run glslc again", file.string()));
  }
  return without_names(words);
}

void embed(const files::path& folder, const files::path& target) {
  struct Place {
    std::size_t first;
    std::size_t count;
  };
  std::map<std::uint64_t, Place> places;
  std::string words;
  std::size_t total = 0;
  for (const files::path& file : vectis::prebuilt::texts_in(folder, extension)) {
    const auto module = read_module(file.string() + ".spv");
    places[hash_of(read(file))] = {total, module.size()};
    total += module.size();
    for (const std::uint32_t word : module) words += fmt::format("{},", word);
    words += '\n';
  }
  std::string text =
      "// Made by vectis-spirv from the built-in kernels.\n#include \"backends/plugin/embedded_kernels.hpp\"\n\n";
  text += "namespace vectis::webgpu {\n\nnamespace {\n\n";
  text += fmt::format("constexpr std::uint32_t words[] = {{\n{}}};\n\nconstexpr SpirvKernel table[] = {{\n", words);
  for (const auto& [hash, place] : places)
    text += fmt::format("    {{{:#x}U, {{words + {}, {}}}}},\n", hash, place.first, place.count);
  text += "};\n\n}  // namespace\n\nstd::span<const SpirvKernel> embedded_kernels() { return table; }\n\n";
  vectis::prebuilt::write(target, text + "}  // namespace vectis::webgpu\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "print") {
      vectis::prebuilt::print_texts(words[1], vectis::Dialect::glsl_webgpu, extension);
    } else if (words.size() == 3 && words[0] == "embed") {
      embed(words[1], words[2]);
    } else {
      std::cerr << "vectis-spirv print FOLDER | embed FOLDER FILE\n";
      return 2;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
