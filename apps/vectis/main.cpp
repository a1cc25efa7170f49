// vectis: one command for everything a person does with Vectis at a shell.

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

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

using Run = std::function<int(Runtime&)>;

void add_replay(CLI::App& bench, vectis::app::ReplayArguments& arguments, bool& json, Run& run) {
  auto* replay = bench.add_subcommand("replay", "Run a recorded allocation log against pool, device and best fit");
  replay->add_option("LOG", arguments.log, "The log")->required();
  replay->add_option("--device", arguments.device, "As VECTIS_DEVICE takes it");
  replay->add_option("--rounds", arguments.rounds, "Timed rounds")->check(CLI::Range(1, 1000));
  replay->add_flag("--json", json, "For programs");
  replay->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::bench_replay(runtime, std::cout, arguments, json); }; });
}

void add_exact(CLI::App& bench, vectis::app::ExactArguments& arguments, bool& json, Run& run) {
  auto* exact = bench.add_subcommand("exact", "Add vectors to an exact index and search it");
  exact->add_option("--device", arguments.device, "cpu, gpu, auto, or as VECTIS_DEVICE takes it");
  exact->add_option("--precision", arguments.precision, "What is scanned: fp32, fp16, bf16 or int8");
  exact->add_option("--rows", arguments.rows, "Vectors")->check(CLI::PositiveNumber);
  exact->add_option("--dim", arguments.dim, "Numbers of each")->check(CLI::Range(1, 65536));
  exact->add_option("--queries", arguments.queries, "Of a batch")->check(CLI::PositiveNumber);
  exact->add_option("--k", arguments.k, "Neighbours of each query")->check(CLI::PositiveNumber);
  exact->add_option("--threads", arguments.threads, "Of this process; 0: one per core");
  exact->add_option("--seed", arguments.seed, "Of the vectors");
  exact->add_flag("--json", json, "For programs");
  exact->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::bench_exact(runtime, std::cout, arguments, json); }; });
}

void add_conformance(CLI::App& app, vectis::app::ConformanceArguments& arguments, Run& run) {
  auto* conformance = app.add_subcommand("conformance", "Prove that a device computes what the operations promise");
  conformance
      ->add_option("--backend", arguments.backends,
                   "A backend, a label such as opencl:1, or a device's number; several")
      ->allow_extra_args(false);
  conformance->add_option("--mode", arguments.mode, "test, perf, support (writes Markdown) or fuzz")
      ->check(CLI::IsMember({"test", "perf", "support", "fuzz"}));
  conformance->add_option("--op", arguments.operations, "Only what this regular expression matches as a whole");
  conformance->add_option("--case", arguments.case_name, "Only the case of this name");
  conformance->add_option("--csv", arguments.csv, "Also write the results to this file");
  conformance
      ->add_option("--test-driver", arguments.test_driven,
                   "For support: a backend whose driver here is that of tests/drivers; several")
      ->allow_extra_args(false);
  conformance->add_option("--translated", arguments.translated,
                          "For support: BACKEND=FILE, what `python3 -m tools.dialects` lists as translated");
  conformance->add_option("--seed", arguments.seed, "Of everything random");
  conformance->add_option("--seconds", arguments.seconds, "How long fuzz goes on")->check(CLI::PositiveNumber);
  conformance->add_flag("--fail-fast", arguments.fail_fast, "End a test with the first operation that fails");
  conformance->add_flag("--list", arguments.list, "Name what would run, and end");
  auto* slice = conformance->add_flag("--slice", arguments.slice, "Fewer cases of everything");
  conformance->add_flag("--full", arguments.full, "Also views over 2^31 bytes, where memory allows")->excludes(slice);
  conformance->callback([&] {
    run = [&](Runtime& runtime) { return vectis::app::conformance(runtime, std::cout, std::cerr, arguments); };
  });
}

void add_report(CLI::App& app, vectis::app::ReportArguments& arguments, Run& run) {
  auto* report = app.add_subcommand("report", "Test and measure a device, and write a file to send in");
  report->add_option("--device", arguments.device, "As VECTIS_DEVICE takes it; software drivers too");
  report->add_option("--out", arguments.out, "The file; else one named after the device, here");
  report->add_option("--op", arguments.operations, "Only what this regular expression matches as a whole");
  report->add_option("--rows", arguments.rows, "Vectors to search; else a million on a GPU");
  report->add_option("--dim", arguments.dim, "Numbers of each")->check(CLI::Range(1, 65536));
  report->add_option("--seed", arguments.seed, "Of everything random");
  report->add_flag("--full", arguments.full, "All of conformance instead of a slice");
  report->add_flag("--no-speeds", arguments.no_speeds, "Leave out the speed of each operation by itself");
  report->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::report(runtime, std::cout, std::cerr, arguments); }; });
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

  Run run;
  auto* devices = app.add_subcommand("devices", "List the devices Vectis can use here");
  devices->add_flag("--json", json, "For programs");
  devices->callback([&] { run = [&](Runtime& runtime) { return vectis::app::devices(runtime, std::cout, json); }; });
  auto* doctor = app.add_subcommand("doctor", "Say for each backend whether it works, why not, and what to install");
  doctor->add_flag("--json", json, "For programs");
  doctor->callback([&] { run = [&](Runtime& runtime) { return vectis::app::doctor(runtime, std::cout, json); }; });
  bool fresh = false;
  auto* plan = app.add_subcommand("plan", "Show how fast each device is, which is what work is placed by");
  plan->add_flag("--fresh", fresh, "Measure again, keeping nothing");
  plan->add_flag("--json", json, "For programs");
  plan->callback([&] { run = [&](Runtime& runtime) { return vectis::app::plan(runtime, std::cout, fresh, json); }; });
  auto* bench = app.add_subcommand("bench", "Measure on this machine")->require_subcommand(1);
  vectis::app::ReplayArguments replay_arguments;
  add_replay(*bench, replay_arguments, json, run);
  vectis::app::ExactArguments exact_arguments;
  add_exact(*bench, exact_arguments, json, run);
  vectis::app::ConformanceArguments conformance_arguments;
  add_conformance(app, conformance_arguments, run);
  vectis::app::ReportArguments report_arguments;
  add_report(app, report_arguments, run);
  auto* memory = app.add_subcommand("memory", "Show the memory of every device, or a snapshot that a program left");
  vectis::app::MemoryArguments memory_arguments;
  auto* snapshot = memory->add_option("PATH", memory_arguments.path, "A snapshot, or the folder of memory.live");
  auto* follow = memory->add_flag("--follow", memory_arguments.follow, "Look again every second")->needs(snapshot);
  memory->add_option("--count", memory_arguments.count, "Look this often, then end")->needs(follow);
  memory->add_option("--html", memory_arguments.page, "Write the snapshot as a page to this file")
      ->needs(snapshot)
      ->excludes(follow);
  memory->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::memory(runtime, std::cout, memory_arguments); }; });
  CLI11_PARSE(app, argc, argv);

  try {
    RuntimeOptions options = options_for(config, verbose);
    options.threads = exact_arguments.threads;
    Runtime runtime(std::move(options));
    return run(runtime);
  } catch (const vectis::Error& error) {
    fmt::print(std::cerr, "vectis: {}: {}\n", describe(error.code()).name, error.what());
    if (!error.detail().empty()) fmt::print(std::cerr, "{}\n", error.detail());
  }
  return exit_failure;
}
