#include <fmt/format.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "kernel/ir/random_program.hpp"
#include "tests/dialects/commands.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/ir.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::kernels {

namespace {

constexpr std::array dialects = {Dialect::opencl_c,    Dialect::cuda,        Dialect::hip,
                                 Dialect::glsl_vulkan, Dialect::glsl_webgpu, Dialect::wgsl};

// Writes texts, and remembers them for the manifest.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
  }

  void add(const std::string& kernel, std::string_view kind, Dialect dialect, const std::string& entry,
           const std::string& text) {
    const std::string file = fmt::format("{}.{}", kernel, name(dialect));
    std::ofstream out(folder_ / file, std::ios::binary);
    out << text;
    if (!out.flush()) throw Error(ErrorCode::io, "print", fmt::format("{} cannot be written", file));
    texts_.push_back(
        {{"kernel", kernel}, {"kind", kind}, {"dialect", name(dialect)}, {"entry", entry}, {"file", file}});
  }

  // What distinguishes built-in kernels of one name: the elements of their buffers, work-items of a group, and words
  // that were put in place of others.
  void add(const std::string& kernel, const KernelSource& source, Dialect dialect) {
    add(kernel, "built-in", dialect, entry_point(source), print(source, dialect));
    nlohmann::json& text = texts_.back();
    for (const BufferParameter& buffer : source.buffers) text["elements"].push_back(short_name(buffer.element));
    text["group"] = source.group[0] * source.group[1] * source.group[2];
    for (const auto& [word, replacement] : source.defines) text["defines"][word] = replacement;
  }

  void finish() {
    nlohmann::json options;
    for (const Dialect dialect : dialects) options[std::string(name(dialect))] = compiler_options(dialect);
    std::ofstream out(folder_ / "manifest.json");
    out << nlohmann::json{{"options", options}, {"texts", texts_}}.dump(1) << "\n";
  }

 private:
  std::filesystem::path folder_;
  nlohmann::json texts_ = nlohmann::json::array();
};

}  // namespace

void print_all(const std::filesystem::path& folder, const Choice& choice) {
  Writer writer(folder);
  std::set<std::string> taken;
  const auto add = [&](const KernelSource& source, auto wanted) {
    std::string kernel = source.name;
    for (int number = 2; !taken.insert(kernel).second; ++number) kernel = fmt::format("{}_{}", source.name, number);
    for (const Dialect dialect : dialects) {
      if (wanted(dialect)) writer.add(kernel, source, dialect);
    }
  };
  for (const KernelSource& source : builtin_kernels()) add(source, [](Dialect one) { return one != Dialect::wgsl; });
  // Bodies of one dialect; in the others these kernels are the same as those above. HIP has no prebuilt kernels; those
  // of CUDA's devices are also planned for HIP's.
  for (const Dialect dialect : dialects) {
    for (const DeviceInfo& device : prebuilt_devices(dialect == Dialect::hip ? Dialect::cuda : dialect)) {
      for (const KernelSource& source : builtin_kernels(device)) {
        if (source.overrides.contains(dialect)) add(source, [&](Dialect one) { return one == dialect; });
      }
    }
  }
  Random random(choice.seed);
  for (std::size_t i = 0; i < choice.programs; ++i) {
    ir::Function function = ir::random_program(random, {.special = i % 2 == 1});
    function.name = fmt::format("random_{}", i);
    for (const Dialect dialect : dialects) {
      writer.add(function.name, "random", dialect, ir::entry_point(function), ir::print(function, dialect));
    }
  }
  writer.finish();
}

}  // namespace vectis::kernels
