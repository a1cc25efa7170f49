// vectis-ptx LIBRARY FOLDER FILE: embeds the built-in kernels in the CUDA plug-in when Vectis is built
// (backends/cuda/ptx). Not installed.
//
// Prints each text into FOLDER as NAME-HASH.cu, where HASH is what the plug-in will look it up by, compiles those
// without a NAME-HASH.cu.ptx beside them with the NVRTC in LIBRARY, and writes FILE, a C++ source with all of them. A
// text that differs for newer devices is compiled for these too, as NAME-HASH.cu.newer.ptx. The same texts and the same
// NVRTC give the same bytes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "prebuilt/texts.hpp"
#include "ptx/nvrtc.hpp"
#include "vectis/base/error.hpp"

namespace {

namespace files = std::filesystem;
using vectis::prebuilt::hash_of;
using vectis::prebuilt::read;

constexpr const char* extension = ".cu";
constexpr const char* newer_extension = ".newer";  // before that of a module
constexpr int oldest_architecture = 70;
// The PTX version of the oldest supported driver (CUDA 11.2). NVRTC declares its own newest version, which older
// drivers reject even if the code does not need it. A driver still rejects code that needs more than the declared
// version.
constexpr const char* stated_version = ".version 7.2";

std::string module_of(const files::path& text) { return text.string() + ".ptx"; }
std::string newer_module_of(const files::path& text) { return text.string() + newer_extension + ".ptx"; }

files::path text_of_module(const files::path& module) {
  const files::path text = files::path(module).replace_extension();
  return text.extension() == newer_extension ? files::path(text).replace_extension() : text;
}

// The architectures for which a text is compiled: the oldest that runs it, and one from which on it is different; 0:
// none.
struct Architectures {
  int oldest = oldest_architecture;
  int newer = 0;
};

Architectures architectures_of(const std::string& text) {
  static const std::regex stated(R"(#define CUDA_ARCHITECTURES (\d+), (\d+)\n)");
  std::smatch found;
  if (!std::regex_search(text, found, stated)) return {};
  return {std::stoi(found[1].str()), std::stoi(found[2].str())};
}

// The oldest architecture from `least` on that the compiler supports.
int supported(const vectis::ptx::Nvrtc& compiler, int least) {
  const std::vector<int> known = compiler.architectures();
  const auto found = std::lower_bound(known.begin(), known.end(), least);
  if (found != known.end()) return *found;
  throw vectis::Error(vectis::ErrorCode::unsupported, "ptx",
                      fmt::format("NVRTC {} supports no architecture from sm_{} on; set NVRTC_LIBRARY to a newer one",
                                  compiler.version(), least));
}

// The PTX to embed: with the hash of its source text, for the test driver (tests/drivers/cuda), and with a version that
// old drivers accept.
std::string embeddable(const std::string& ptx, std::uint64_t hash) {
  const std::size_t begin = ptx.find(".version ");
  if (begin == std::string::npos)
    throw vectis::Error(vectis::ErrorCode::compile_failed, "ptx", "NVRTC returned no PTX; try another version");
  return fmt::format("// vectis text {:016x}\n", hash) + stated_version + ptx.substr(ptx.find('\n', begin));
}

// Removes modules of another compiler, of other options, or of a source that no longer exists.
void remove_stale_modules(const files::path& folder, const std::string& compiler) {
  const bool same_compiler = read(folder / "made_by.txt") == compiler;
  for (const files::path& module : vectis::prebuilt::texts_in(folder, ".ptx")) {
    if (!same_compiler || !files::exists(text_of_module(module))) files::remove(module);
  }
  vectis::prebuilt::write(folder / "made_by.txt", compiler);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

void compile(const vectis::ptx::Nvrtc& compiler, const files::path& folder) {
  const std::string options = read(folder / "options.txt");
  remove_stale_modules(folder, fmt::format("NVRTC {} {} {}\n{}\n", compiler.version(), options,
                                           supported(compiler, oldest_architecture), stated_version));
  for (const files::path& text : vectis::prebuilt::texts_in(folder, extension)) {
    const std::string content = read(text);
    const auto make = [&](int architecture, const files::path& module) {
      if (architecture == 0 || files::exists(module)) return;
      std::vector<std::string> words = words_of(options);
      words.push_back(fmt::format("--gpu-architecture=compute_{}", supported(compiler, architecture)));
      vectis::prebuilt::write(module, embeddable(compiler.compile(content, words), hash_of(content)));
    };
    const Architectures architectures = architectures_of(content);
    make(architectures.oldest, module_of(text));
    make(architectures.newer, newer_module_of(text));
  }
}

// The table of the modules that `module_of_text` names, those that exist.
std::string table_of(const files::path& folder, const char* name, std::string (*module_of_text)(const files::path&)) {
  std::map<std::uint64_t, std::string> modules;
  for (const files::path& text : vectis::prebuilt::texts_in(folder, extension)) {
    const files::path module = module_of_text(text);
    if (files::exists(module)) modules[hash_of(read(text))] = read(module);
  }
  std::string source = fmt::format("constexpr std::array<PtxKernel, {}> {} = {{{{\n", modules.size(), name);
  for (const auto& [hash, ptx] : modules) source += fmt::format("    {{{:#x}U, R\"ptx({})ptx\"}},\n", hash, ptx);
  return source + "}};\n\n";
}

int newer_architecture(const files::path& folder) {
  int newest = 0;
  for (const files::path& text : vectis::prebuilt::texts_in(folder, extension)) {
    newest = std::max(newest, architectures_of(read(text)).newer);
  }
  return newest;
}

void embed(const vectis::ptx::Nvrtc& compiler, const files::path& folder, const files::path& target) {
  const std::string source = fmt::format(
      "// Generated by vectis-ptx from the built-in kernels.\n#include <array>\n\n"
      "#include \"backends/plugin/embedded_kernels.hpp\"\n\n"
      "namespace vectis::cuda_hip {{\n\nnamespace {{\n\n{}{}}}  // namespace\n\n"
      "PtxKernels embedded_kernels() {{ return {{table, newer, \"{}\", {}, {}}}; }}\n\n"
      "}}  // namespace vectis::cuda_hip\n",
      table_of(folder, "table", module_of), table_of(folder, "newer", newer_module_of), read(folder / "options.txt"),
      supported(compiler, oldest_architecture), newer_architecture(folder));
  vectis::prebuilt::write(target, source);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 3) {
    std::cerr << "usage: vectis-ptx LIBRARY FOLDER FILE\n";
    return 2;
  }
  try {
    const vectis::ptx::Nvrtc compiler(words[0]);
    const files::path folder = words[1];
    vectis::prebuilt::print_texts(folder, vectis::Dialect::cuda, extension);
    compile(compiler, folder);
    embed(compiler, folder, words[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
