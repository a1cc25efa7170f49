// vectis-kernels: every kernel there is, for the tools that prove them (python3 -m tools.dialects). Not installed.
#include <CLI/CLI.hpp>

#include "tests/dialects/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app("Every built-in kernel and random programs, printed, compiled or launched");
  app.require_subcommand(1);
  vectis::kernels::Choice choice;
  std::string folder;
  std::string device = "opencl";
  int outcome = 0;

  auto* const print = app.add_subcommand("print", "writes every kernel in every dialect, and manifest.json");
  print->add_option("folder", folder)->required();
  auto* const build = app.add_subcommand("build", "compiles the printed kernels and lists failures");
  build->add_option("folder", folder)->required();
  auto* const launch = app.add_subcommand("launch", "runs every operation's samples and the programs, one at a time");
  launch->add_option("--operations", choice.operations, "names to take, as a regular expression");
  for (auto* const command : {print, launch}) {
    command->add_option("--programs", choice.programs, "random programs of the IR");
    command->add_option("--seed", choice.seed, "what they are made from");
  }
  for (auto* const command : {build, launch}) command->add_option("--device", device);
  print->callback([&] { vectis::kernels::print_all(folder, choice); });
  build->callback([&] { outcome = vectis::kernels::build_all(folder, device); });
  launch->callback([&] { outcome = vectis::kernels::launch_all(device, choice); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return outcome;
}
