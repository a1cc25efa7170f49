#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "kernel/ir/random_program.hpp"
#include "kernel/launch/builtin.hpp"
#include "tests/dialects/commands.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::kernels {

namespace {

class Launcher {
 public:
  Launcher(DeviceContext context, const Choice& choice)
      : context_(std::move(context)), stream_(context_), random_(choice.seed) {}

  [[nodiscard]] std::size_t kernels() const noexcept { return launched_.size(); }

  // Nothing is run when every kernel it would launch was launched before.
  void sample(const Operation& operation, const std::vector<DType>& types,
              const std::vector<std::array<std::uint64_t, 2>>& shapes) {
    std::vector<View> views;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::uint64_t bytes = shapes[i][0] * shapes[i][1] * size_of(types[i]);
      views.emplace_back(memory_with(some_bytes(types[i], round_up(bytes))), types[i], shapes[i][0], shapes[i][1]);
    }
    if (!has_new_kernel(operation, views)) return;
    begin(fmt::format("{} of {}", operation.name, fmt::join(names_of(types), ", ")));
    run(stream_, operation.name, views);
    stream_.synchronize();
  }

  void program(std::size_t number) {
    constexpr std::uint64_t count = 301;  // the last group and the last words are not full
    ir::Function function = ir::random_program(random_);
    function.name = fmt::format("random_{}", number);
    const ir::ProgramData data = ir::random_data(function, count, random_);
    std::vector<std::vector<std::byte>> blank;
    blank.reserve(function.outputs.size());
    for (const ir::Output& output : function.outputs) blank.emplace_back(round_up(count * 4 / lanes(output.element)));
    const std::vector<DeviceMemory> inputs = memories_with(data.inputs);
    const std::vector<DeviceMemory> tables = memories_with(data.tables);
    const std::vector<DeviceMemory> outputs = memories_with(blank);
    begin(function.name);
    map(stream_, function, {inputs, tables, outputs, data.arguments}, count);
    stream_.synchronize();
  }

 private:
  bool has_new_kernel(const Operation& operation, const std::vector<View>& views) {
    std::vector<ParameterValue> parameters;
    for (const ParameterRule& rule : operation.parameters) parameters.emplace_back(rule.default_value);
    bool found = false;
    for (const PlannedLaunch& launch :
         operation.plan({&operation, views, parameters}, context_.device().info()).launches) {
      found = launched_.insert(launch.key).second || found;
    }
    return found;
  }

  // Finite numbers; whole ones small enough to be indices, some of them equal, some beyond the end.
  std::vector<std::byte> some_bytes(DType type, std::uint64_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (type != DType::int32) {
        bytes[i] = static_cast<std::byte>(random_.below(64));
      } else if (i % 4 == 0) {
        bytes[i] = static_cast<std::byte>(random_.below(4));
      }
    }
    return bytes;
  }

  static std::uint64_t round_up(std::uint64_t bytes) { return (std::max<std::uint64_t>(bytes, 1) + 3) / 4 * 4; }

  static std::vector<std::string_view> names_of(const std::vector<DType>& types) {
    std::vector<std::string_view> names;
    names.reserve(types.size());
    for (const DType type : types) names.push_back(name(type));
    return names;
  }

  DeviceMemory memory_with(const std::vector<std::byte>& bytes) {
    DeviceMemory memory(context_, std::max<std::size_t>(bytes.size(), 4));
    if (!bytes.empty()) stream_.copy_to_device(memory, 0, bytes);
    stream_.synchronize();
    return memory;
  }

  std::vector<DeviceMemory> memories_with(const std::vector<std::vector<std::byte>>& contents) {
    std::vector<DeviceMemory> memories;
    memories.reserve(contents.size());
    for (const auto& bytes : contents) memories.push_back(memory_with(bytes));
    return memories;
  }

  // Told before the launch, so that whatever an emulator says next belongs to it.
  static void begin(const std::string& what) { std::cout << "launch " << what << std::endl; }

  DeviceContext context_;
  Stream stream_;
  Random random_;
  std::set<std::string> launched_;  // keys of kernels
};

}  // namespace

int launch_all(const std::string& device, const Choice& choice) {
  Runtime runtime;
  Launcher launcher(DeviceContext(runtime.service<DeviceRegistry>().find(device).value()), choice);
  const std::regex wanted(choice.operations);
  int failures = 0;
  const auto attempt = [&](auto&& launch) {
    try {
      launch();
    } catch (const std::exception& error) {
      ++failures;
      std::cout << "failed " << error.what() << std::endl;
    }
  };
  for (const Operation& operation : operations()) {
    if (!std::regex_match(operation.name, wanted)) continue;
    detail::each_types(operation, [&](const std::vector<DType>& types) {
      for (const auto& shapes : operation.samples) attempt([&] { launcher.sample(operation, types, shapes); });
    });
  }
  for (std::size_t i = 0; i < choice.programs; ++i) attempt([&] { launcher.program(i); });
  std::cout << "built-in kernels launched: " << launcher.kernels() << std::endl;
  return failures == 0 ? 0 : 1;
}

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
