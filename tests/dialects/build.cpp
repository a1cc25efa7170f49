#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/dialects/commands.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::kernels {

int build_all(const std::filesystem::path& folder, const std::string& device) {
  Runtime runtime;
  const DeviceContext context(runtime.service<DeviceRegistry>().find(device).value());
  const nlohmann::json manifest = nlohmann::json::parse(std::ifstream(folder / "manifest.json"));
  int failures = 0;
  for (const auto& text : manifest["texts"]) {
    if (text["dialect"] != name(Dialect::opencl_c)) continue;
    std::ifstream in(folder / text["file"].get<std::string>(), std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    try {
      const Program program(context, name(Dialect::opencl_c), source, compiler_options(Dialect::opencl_c));
      const EntryPoint entry(program, text["entry"].get<std::string>());
    } catch (const Error& error) {
      ++failures;
      std::cout << fmt::format("{}\t{} {}\n", text["kernel"].get<std::string>(), error.what(), error.detail());
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace vectis::kernels
