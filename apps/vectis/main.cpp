// vectis: one command for everything a person does with Vectis at a shell.

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/commands.hpp"
#include "vectis/suggestion.hpp"
#include "vectis/table.hpp"

namespace {

using vectis::Runtime;
using vectis::RuntimeOptions;
using vectis::app::printable;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
// Of texts with names from files and drivers: kernel sources and compiler output have several lines.
constexpr std::string_view kept_characters = "\n\t";

constexpr const char* exit_codes =
    "Exit codes: 0 success; 1 the command failed, or a check it ran failed; 2 wrong usage (unknown subcommand or "
    "option).\nSettings: docs/configuration.md. Errors: docs/errors.md.";

// `settings_logged`: whether to log warnings about settings, which the report of `vectis doctor` contains.
RuntimeOptions options_for(const std::string& config, bool verbose, bool settings_logged) {
  RuntimeOptions options;
  if (!config.empty()) {
    if (!vectis::real_os().read_file(config)) {
      throw vectis::Error(
          vectis::ErrorCode::invalid_input, "vectis",
          fmt::format("--config {} cannot be read; correct the path or the file's permissions", config));
    }
    options.settings["config"] = config;
  }
  options.log_level = verbose ? vectis::LogLevel::debug : vectis::LogLevel::warning;
  options.log = [settings_logged](const vectis::LogRecord& record) {
    if (!settings_logged && record.component == "settings") return;
    fmt::print(std::cerr, "vectis: {}: {}: {}\n", name(record.level), record.component,
               printable(record.message, kept_characters));
  };
  return options;
}

using Run = std::function<int(Runtime&)>;

// Accepts integers from `min` to `max`.
CLI::Validator integer_range(std::uint64_t min, std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
  const std::string range = max == std::numeric_limits<std::uint64_t>::max() ? fmt::format("{} or more", min)
                                                                             : fmt::format("{} to {}", min, max);
  return {[=](const std::string& text) {
            std::uint64_t value = 0;
            const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
            if (whole && value >= min && value <= max) return std::string();
            return fmt::format("{} is not an integer of {}", text, range);
          },
          range};
}

// Accepts finite numbers from `min` on, or, if `above`, greater than `min`.
CLI::Validator number_range(double min, bool above = false) {
  const std::string range = above ? fmt::format("above {}", min) : fmt::format("{} or more", min);
  return {[=](const std::string& text) {
            double value = 0;
            const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
            if (whole && std::isfinite(value) && (above ? value > min : value >= min)) return std::string();
            return fmt::format("{} is not a number {}{}", text, above ? "" : "of ", range);
          },
          range};
}

CLI::Validator precision_name() { return CLI::IsMember({"fp32", "fp16", "bf16", "int8"}); }

void add_plan(CLI::App& app, vectis::app::PlanArguments& arguments, bool& json, Run& run) {
  auto* plan =
      app.add_subcommand("plan", "Show the measured speed of each device, or predict where a workload is fastest");
  auto* fresh = plan->add_flag("--fresh", arguments.fresh, "Measure again and keep the best of old and new");
  const auto amount = [&](const char* name, double& value, const char* text) {
    plan->add_option(name, value, text)->check(number_range(0))->excludes(fresh);
  };
  amount("--operations", arguments.operations, "Predict this many arithmetic operations; a multiply-add counts as two");
  plan->add_option("--precision", arguments.precision, "Precision of the operations")->check(precision_name());
  amount("--bytes", arguments.bytes, "Bytes that the workload reads and writes in device memory");
  amount("--copy-in", arguments.copy_in_bytes, "Bytes to copy to the device first");
  amount("--copy-out", arguments.copy_out_bytes, "Bytes to copy back to the host");
  amount("--launches", arguments.launches, "Kernel launches that wait for each other");
  plan->add_option("--matmul", arguments.matmul, "Predict a product of an M x K and a K x N matrix: M N K")
      ->expected(3)
      ->check(number_range(0, true))
      ->excludes(fresh);
  plan->add_flag("--json", json, "Print JSON");
  plan->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::plan(runtime, std::cout, arguments, json); }; });
}

void add_replay(CLI::App& bench, vectis::app::ReplayArguments& arguments, bool& json, Run& run) {
  auto* replay = bench.add_subcommand(
      "replay", "Replay a recorded allocation log on the memory pool, the driver's allocator and a best-fit allocator");
  replay->add_option("LOG", arguments.log, "Allocation log file")->required();
  replay->add_option("--device", arguments.device, "Device to allocate on, in the syntax of VECTIS_DEVICE");
  replay->add_option("--rounds", arguments.rounds, "Number of timed rounds")->check(integer_range(1, 1000));
  replay->add_flag("--json", json, "Print JSON");
  replay->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::bench_replay(runtime, std::cout, arguments, json); }; });
}

void add_exact(CLI::App& bench, vectis::app::ExactArguments& arguments, bool& json, Run& run) {
  auto* exact = bench.add_subcommand(
      "exact", "Measure exact search on random vectors and check its results against brute force in double precision");
  exact->add_option("--device", arguments.device, "cpu, gpu, auto, or any value of VECTIS_DEVICE");
  exact->add_option("--precision", arguments.precision, "Precision of the scanned codes")->check(precision_name());
  exact->add_option("--rows", arguments.rows, "Number of vectors")->check(integer_range(1));
  exact->add_option("--dim", arguments.dim, "Dimensions of a vector")->check(integer_range(1, 65536));
  exact->add_option("--queries", arguments.queries, "Queries per batch")->check(integer_range(1));
  exact->add_option("--k", arguments.k, "Neighbors per query")->check(integer_range(1));
  exact->add_option("--threads", arguments.threads, "Number of threads; 0: one per core")->check(integer_range(0));
  exact->add_option("--seed", arguments.seed, "Seed of the random vectors")->check(integer_range(0));
  exact->add_flag("--json", json, "Print JSON");
  exact->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::bench_exact(runtime, std::cout, arguments, json); }; });
}

void add_conformance(CLI::App& app, vectis::app::ConformanceArguments& arguments, Run& run) {
  auto* conformance =
      app.add_subcommand("conformance", "Test every operation of a backend against double-precision references");
  conformance
      ->add_option("--backend", arguments.backends,
                   "A backend, a label such as opencl:1, or a device id; may be repeated")
      ->allow_extra_args(false);
  conformance
      ->add_option("--mode", arguments.mode, "test, perf (speed), support (Markdown table) or fuzz (random cases)")
      ->check(CLI::IsMember({"test", "perf", "support", "fuzz"}));
  conformance->add_option("--op", arguments.operations,
                          "Test only operations whose whole name this regular expression matches");
  conformance->add_option("--case", arguments.case_name, "Run only the case of this name");
  conformance->add_option("--csv", arguments.csv, "Also write the results to this file");
  conformance
      ->add_option("--test-driver", arguments.test_driven,
                   "For --mode support: a backend that runs on a driver of tests/drivers; may be repeated")
      ->allow_extra_args(false);
  conformance->add_option("--translated", arguments.translated,
                          "For --mode support: BACKEND=FILE with the hashes of translated kernels");
  conformance->add_option("--seed", arguments.seed, "Seed of all random data")->check(integer_range(0));
  conformance->add_option("--seconds", arguments.seconds, "Duration of --mode fuzz in seconds")
      ->check(number_range(0, true));
  conformance->add_flag("--fail-fast", arguments.fail_fast, "Stop at the first operation that fails");
  conformance->add_flag("--list", arguments.list, "List the names of the operations and exit");
  auto* slice = conformance->add_flag("--slice", arguments.slice, "Run a sample of the cases");
  conformance->add_flag("--full", arguments.full, "Also test operands over 2^31 bytes, if memory allows")
      ->excludes(slice);
  conformance->callback([&] {
    run = [&](Runtime& runtime) { return vectis::app::conformance(runtime, std::cout, std::cerr, arguments); };
  });
}

void add_report(CLI::App& app, vectis::app::ReportArguments& arguments, Run& run) {
  auto* report = app.add_subcommand("report", "Test and benchmark one device, and write a report file to share");
  report->add_option("--device", arguments.device,
                     "Device in the syntax of VECTIS_DEVICE, software drivers included; auto: the first GPU");
  report->add_option("--out", arguments.out, "Report file; default: vectis-report-BACKEND-ID.json");
  report->add_option("--op", arguments.operations,
                     "Test only operations whose whole name this regular expression matches");
  report->add_option("--rows", arguments.rows, "Number of vectors to search; default: 1000000 on a GPU, else 50000")
      ->check(integer_range(1));
  report->add_option("--dim", arguments.dim, "Dimensions of a vector")->check(integer_range(1, 65536));
  report->add_option("--seed", arguments.seed, "Seed of all random data")->check(integer_range(0));
  report->add_flag("--full", arguments.full, "Run all conformance cases instead of a sample");
  report->add_flag("--no-speeds", arguments.no_speeds, "Skip the benchmark of each single operation");
  report->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::report(runtime, std::cout, std::cerr, arguments); }; });
}

// The subcommand that was parsed last: `app` itself when none was.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.back());
}

// What is wrong when a subcommand is missing or unknown; empty when the innermost command has no subcommands.
std::string describe_wrong_subcommand(const CLI::App& app) {
  const CLI::App& parent = innermost(app);
  std::vector<std::string> names;
  for (const CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (names.empty()) return {};
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return fmt::format("{} needs a subcommand: {}", parent.get_name(), fmt::join(names, ", "));
  if (extra.front().starts_with('-')) return fmt::format("unknown option '{}'", extra.front());
  const std::string nearest = vectis::app::nearest_name(extra.front(), names);
  return fmt::format("unknown subcommand '{}'{} The subcommands of {} are {}.", extra.front(),
                     nearest.empty() ? "." : fmt::format("; did you mean '{}'?", nearest), parent.get_name(),
                     fmt::join(names, ", "));
}

// Prints help, the version or what is wrong with the command line. Returns the exit code.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  const std::string wrong = describe_wrong_subcommand(app);
  fmt::print(std::cerr, "vectis: {}\nRun `vectis --help` for usage.\n", wrong.empty() ? error.what() : wrong);
  return exit_usage;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Vector search and compute kernels on CPUs and GPUs: inspect devices, test them, measure them.",
               "vectis"};
  app.footer(exit_codes);
  app.set_version_flag("--version", std::string(vectis::version()));
  app.require_subcommand(1);
  app.fallthrough();
  std::string config;
  bool verbose = false;
  bool json = false;
  app.add_option("--config", config, "Read settings from this YAML file");
  app.add_flag("--verbose", verbose, "Log to standard error at level debug");

  Run run;
  auto* devices = app.add_subcommand("devices", "List the usable devices");
  devices->add_flag("--json", json, "Print JSON");
  devices->callback([&] { run = [&](Runtime& runtime) { return vectis::app::devices(runtime, std::cout, json); }; });
  auto* doctor = app.add_subcommand("doctor", "Check every backend: whether it works, why not, and what to install");
  doctor->add_flag("--json", json, "Print JSON");
  doctor->callback([&] { run = [&](Runtime& runtime) { return vectis::app::doctor(runtime, std::cout, json); }; });
  vectis::app::PlanArguments plan_arguments;
  add_plan(app, plan_arguments, json, run);
  auto* bench = app.add_subcommand("bench", "Run a benchmark")->require_subcommand(1);
  vectis::app::ReplayArguments replay_arguments;
  add_replay(*bench, replay_arguments, json, run);
  vectis::app::ExactArguments exact_arguments;
  add_exact(*bench, exact_arguments, json, run);
  vectis::app::ConformanceArguments conformance_arguments;
  add_conformance(app, conformance_arguments, run);
  vectis::app::ReportArguments report_arguments;
  add_report(app, report_arguments, run);
  auto* memory =
      app.add_subcommand("memory", "Show the memory of every device, or a snapshot of a program's memory pool");
  vectis::app::MemoryArguments memory_arguments;
  auto* snapshot =
      memory->add_option("PATH", memory_arguments.path, "A snapshot file, or the folder set as memory.live");
  auto* follow = memory->add_flag("--follow", memory_arguments.follow, "Refresh every second")->needs(snapshot);
  memory->add_option("--count", memory_arguments.count, "Stop after this many refreshes")
      ->check(integer_range(1))
      ->needs(follow);
  memory->add_option("--html", memory_arguments.page, "Write the snapshot as an HTML page to this file")
      ->needs(snapshot)
      ->excludes(follow);
  memory->callback(
      [&] { run = [&](Runtime& runtime) { return vectis::app::memory(runtime, std::cout, memory_arguments); }; });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }

  try {
    RuntimeOptions options = options_for(config, verbose, !doctor->parsed());
    options.threads = exact_arguments.threads;
    Runtime runtime(std::move(options));
    return run(runtime);
  } catch (const vectis::Error& error) {
    fmt::print(std::cerr, "vectis: {}: {}\n", describe(error.code()).name, printable(error.what(), kept_characters));
    if (!error.detail().empty()) fmt::print(std::cerr, "{}\n", printable(error.detail(), kept_characters));
  } catch (const std::bad_alloc&) {
    fmt::print(std::cerr, "vectis: out of host memory; use smaller sizes or free memory on this host\n");
  } catch (const std::exception& error) {
    fmt::print(std::cerr, "vectis: unexpected error: {}\n", printable(error.what(), kept_characters));
  }
  return exit_failure;
}
