// vectis-ptx LIBRARY FOLDER FILE: embeds the built-in kernels in the CUDA plug-in when Vectis is built
// (backends/cuda/ptx). Not installed.
//
// Prints each text into FOLDER as NAME-HASH.cu, where HASH is what the plug-in will look it up by, compiles those
// without a NAME-HASH.cu.ptx beside them with the NVRTC in LIBRARY, and writes FILE, a C++ source with all of them. The
// same texts and the same NVRTC give the same bytes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
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
constexpr int oldest_architecture = 70;
// What the oldest driver the plug-in takes reads (CUDA 11.2). NVRTC states its own newest, which older drivers refuse
// whatever the code needs; a driver refuses code that needs more than it states.
constexpr const char* stated_version = ".version 7.2";

std::string module_of(const files::path& text) { return text.string() + ".ptx"; }

int architecture_of(const vectis::ptx::Nvrtc& compiler) {
  const std::vector<int> known = compiler.architectures();
  const auto found = std::lower_bound(known.begin(), known.end(), oldest_architecture);
  if (found != known.end()) return *found;
  throw vectis::Error(vectis::ErrorCode::unsupported, "ptx",
                      fmt::format("NVRTC {} compiles for nothing from sm_{} on; set NVRTC_LIBRARY to a newer one",
                                  compiler.version(), oldest_architecture));
}

// The PTX to embed: with the hash of its source text, for the test driver (tests/drivers/cuda), and with a version that
// old drivers accept.
std::string embeddable(const std::string& ptx, std::uint64_t hash) {
  const std::size_t begin = ptx.find(".version ");
  if (begin == std::string::npos) throw vectis::Error(vectis::ErrorCode::compile_failed, "ptx", "NVRTC gave no PTX");
  return fmt::format("// vectis text {:016x}\n", hash) + stated_version + ptx.substr(ptx.find('\n', begin));
}

// Forgets what was made by another compiler, in another way, or of a text that is gone.
void forget_unless_made_by(const files::path& folder, const std::string& maker) {
  const bool same_maker = read(folder / "made_by.txt") == maker;
  for (const files::path& module : vectis::prebuilt::texts_in(folder, ".ptx")) {
    if (!same_maker || !files::exists(files::path(module).replace_extension())) files::remove(module);
  }
  vectis::prebuilt::write(folder / "made_by.txt", maker);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

void compile(const vectis::ptx::Nvrtc& compiler, const files::path& folder, int architecture) {
  const std::string target = fmt::format("--gpu-architecture=compute_{}", architecture);
  const std::string options = read(folder / "options.txt") + " " + target;
  forget_unless_made_by(folder, fmt::format("NVRTC {} {}\n{}\n", compiler.version(), options, stated_version));
  for (const files::path& text : vectis::prebuilt::texts_in(folder, extension)) {
    if (files::exists(module_of(text))) continue;
    const std::string content = read(text);
    vectis::prebuilt::write(module_of(text),
                            embeddable(compiler.compile(content, words_of(options)), hash_of(content)));
  }
}

void embed(const files::path& folder, int architecture, const files::path& target) {
  std::map<std::uint64_t, std::string> modules;
  for (const files::path& text : vectis::prebuilt::texts_in(folder, extension)) {
    modules[hash_of(read(text))] = read(module_of(text));
  }
  std::string source =
      "// Made by vectis-ptx from the built-in kernels.\n#include \"backends/plugin/embedded_kernels.hpp\"\n\n"
      "namespace vectis::cuda_hip {\n\nnamespace {\n\nconstexpr PtxKernel table[] = {\n";
  for (const auto& [hash, ptx] : modules) source += fmt::format("    {{{:#x}U, R\"ptx({})ptx\"}},\n", hash, ptx);
  source += fmt::format(
      "}};\n\n}}  // namespace\n\nPtxKernels embedded_kernels() {{ return {{table, \"{}\", {}}}; }}\n\n"
      "}}  // namespace vectis::cuda_hip\n",
      read(folder / "options.txt"), architecture);
  vectis::prebuilt::write(target, source);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 3) {
    std::cerr << "vectis-ptx LIBRARY FOLDER FILE\n";
    return 2;
  }
  try {
    const vectis::ptx::Nvrtc compiler(words[0]);
    const files::path folder = words[1];
    const int architecture = architecture_of(compiler);
    vectis::prebuilt::print_texts(folder, vectis::Dialect::cuda, extension);
    compile(compiler, folder, architecture);
    embed(folder, architecture, words[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
