// vectis: one command for everything a person does with Vectis at a shell.

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>

#include "vectis/base.hpp"
#include "vectis/commands.hpp"

namespace {

using vectis::Runtime;
using vectis::RuntimeOptions;

constexpr int exit_failure = 1;

RuntimeOptions options_for(const std::string& config, bool verbose) {
  RuntimeOptions options;
  if (!config.empty()) options.settings["config"] = config;
  options.log_level = verbose ? vectis::LogLevel::debug : vectis::LogLevel::warning;
  options.log = [](const vectis::LogRecord& record) {
    fmt::print(std::cerr, "vectis: {}: {}: {}\n", name(record.level), record.component, record.message);
  };
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Accelerated computing on whatever device is there.", "vectis"};
  app.set_version_flag("--version", std::string(vectis::version()));
  app.require_subcommand(1);
  app.fallthrough();
  std::string config;
  bool verbose = false;
  bool json = false;
  app.add_option("--config", config, "Read settings from this YAML file");
  app.add_flag("--verbose", verbose, "Tell on standard error what happens");

  std::function<int(Runtime&)> run;
  auto* devices = app.add_subcommand("devices", "List the devices Vectis can use here");
  devices->add_flag("--json", json, "For programs");
  devices->callback([&] { run = [&](Runtime& runtime) { return vectis::app::devices(runtime, std::cout, json); }; });
  auto* doctor = app.add_subcommand("doctor", "Say for each backend whether it works, why not, and what to install");
  doctor->add_flag("--json", json, "For programs");
  doctor->callback([&] { run = [&](Runtime& runtime) { return vectis::app::doctor(runtime, std::cout, json); }; });
  CLI11_PARSE(app, argc, argv);

  try {
    Runtime runtime(options_for(config, verbose));
    return run(runtime);
  } catch (const vectis::Error& error) {
    fmt::print(std::cerr, "vectis: {}: {}\n", describe(error.code()).name, error.what());
    if (!error.detail().empty()) fmt::print(std::cerr, "{}\n", error.detail());
  }
  return exit_failure;
}
