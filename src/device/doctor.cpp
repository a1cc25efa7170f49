#include "vectis/device/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include "device/advice.hpp"
#include "device/plugin.hpp"
#include "device/probe.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace std::chrono_literals;

constexpr Duration probe_limit = 60s;  // a first contact with a driver may compile for seconds

// Beside the library in the build tree and in an installation, else where it was installed.
std::string probe_program(const Os& os) {
  const std::string module = os.module_directory();
  for (const char* relative : {"/../libexec/vectis/vectis-probe", "/../../libexec/vectis/vectis-probe"}) {
    std::string path = module + relative;
    if (os.access(path) != FileAccess::absent) return path;
  }
  return VECTIS_INSTALLED_PROBE;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// Why a probe gave no answer.
std::string how_it_ended(const ProcessResult& result, const std::string& program) {
  const std::string said = last_line(result.error);
  const std::string words = said.empty() ? "" : fmt::format("; its last words: {}", said);
  switch (result.end) {
    case ProcessResult::End::killed:
      return fmt::format("loading it ended the probe with signal {}{}", result.code, words);
    case ProcessResult::End::timed_out:
      return fmt::format("loading it took longer than {} s{}", probe_limit / 1s, words);
    case ProcessResult::End::exited:
      return fmt::format("loading it ended the probe with exit status {}{}", result.code, words);
    case ProcessResult::End::not_started:
      break;
  }
  return fmt::format("the probe {} could not be started, error {}", program, result.code);
}

struct Finding {
  Diagnosis diagnosis;
  std::string install;
};

Finding examine(Os& os, const Settings& settings, const detail::PluginFile& file) {
  const std::string program = probe_program(os);
  const ProcessResult result = os.run({program, file.path, settings.text("config")}, probe_limit);
  if (result.end == ProcessResult::End::exited && result.code == 0) {
    if (auto answer = detail::parse_line(last_line(result.output))) return {answer->diagnosis, answer->install};
  }
  Diagnosis diagnosis;
  diagnosis.backend = file.name;
  diagnosis.path = file.path;
  diagnosis.state = result.end == ProcessResult::End::not_started ? BackendState::failed : BackendState::crashed;
  diagnosis.reason = how_it_ended(result, program);
  return {diagnosis, {}};
}

bool software_only(const Diagnosis& diagnosis) {
  return std::ranges::all_of(diagnosis.devices, [](const DeviceSummary& device) { return device.software; });
}

Diagnosis with_advice(const Os& os, const Finding& finding) {
  Diagnosis diagnosis = finding.diagnosis;
  if (diagnosis.state == BackendState::ready) {
    if (software_only(diagnosis)) diagnosis.advice = detail::software_advice(os);
    return diagnosis;
  }
  const detail::BackendProblem problem =
      detail::refine(os, {diagnosis.backend, diagnosis.state, diagnosis.reason, finding.install});
  diagnosis.state = problem.state;
  diagnosis.reason = problem.reason;
  diagnosis.advice = detail::advice(os, problem);
  return diagnosis;
}

Diagnosis absent(const Os& os, const Settings& settings, const std::string& backend) {
  Diagnosis diagnosis;
  diagnosis.backend = backend;
  diagnosis.state = BackendState::not_installed;
  std::string places;
  for (const std::string& directory : detail::plugin_directories(os, settings)) {
    places += (places.empty() ? "" : ", ") + directory;
  }
  diagnosis.reason = fmt::format("no plug-in libvectis_backend_{}.so in {}", backend, places);
  return with_advice(os, {diagnosis, {}});
}

Diagnosis examine_cpu(Runtime& runtime) {
  const detail::OpenedBackend cpu = detail::open_builtin_cpu(runtime);
  Diagnosis diagnosis;
  diagnosis.backend = cpu.status.name;
  diagnosis.path = cpu.status.path;
  diagnosis.state = cpu.status.state;
  diagnosis.reason = cpu.status.reason;
  for (const DeviceInfo& device : cpu.devices)
    diagnosis.devices.push_back({device.name, device.driver, device.software});
  return diagnosis;
}

void print_field(std::ostream& out, std::string_view label, std::string_view text) {
  if (!text.empty()) fmt::print(out, "  {:<9} {}\n", label, text);
}

void print_one(std::ostream& out, const Diagnosis& diagnosis) {
  const bool ready = diagnosis.state == BackendState::ready;
  fmt::print(out, "\n{}: {}\n", diagnosis.backend,
             ready ? "found" : fmt::format("not usable, {}", name(diagnosis.state)));
  for (const DeviceSummary& device : diagnosis.devices) {
    print_field(out, "device", fmt::format("{}{}", device.name, device.software ? " (software driver)" : ""));
    print_field(out, "driver", device.driver);
  }
  print_field(out, ready ? "note" : "reason", diagnosis.reason);
  print_field(out, "plug-in", diagnosis.path);
  print_field(out, "needs", diagnosis.requirement);
  print_field(out, ready ? "note" : "do", diagnosis.advice);
}

}  // namespace

DoctorReport diagnose(Runtime& runtime) {
  Os& os = runtime.os();
  DoctorReport report;
  report.system = detail::system_name(os);
  const std::vector<detail::PluginFile> files = detail::find_plugins(os, runtime.settings());
  for (const detail::PluginFile& file : files)
    report.backends.push_back(with_advice(os, examine(os, runtime.settings(), file)));
  for (const std::string& shipped : detail::shipped_plugins(os)) {
    if (std::ranges::find(files, shipped, &detail::PluginFile::name) == files.end()) {
      report.backends.push_back(absent(os, runtime.settings(), shipped));
    }
  }
  report.backends.push_back(examine_cpu(runtime));
  std::ranges::sort(report.backends, {}, [](const Diagnosis& diagnosis) {
    return std::pair(detail::automatic_rank(diagnosis.backend), diagnosis.backend);
  });
  return report;
}

void print(std::ostream& out, const DoctorReport& report) {
  fmt::print(out, "Vectis {} on {}\n", version(), report.system);
  for (const Diagnosis& diagnosis : report.backends) print_one(out, diagnosis);
  const auto is_gpu = [](const Diagnosis& one) {
    return one.backend != "cpu" && one.state == BackendState::ready && !software_only(one);
  };
  fmt::print(out, "\n{}\n",
             std::ranges::any_of(report.backends, is_gpu) ? "A GPU is ready to be used."
                                                          : "No GPU is usable: Vectis computes on the CPU.");
}

}  // namespace vectis::inline v0_1
