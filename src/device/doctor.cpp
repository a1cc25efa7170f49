#include "vectis/device/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <map>
#include <ostream>

#include "device/advice.hpp"
#include "device/plugin.hpp"
#include "device/probe.hpp"
#include "device/ranking.hpp"
#include "device/system.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace std::chrono_literals;

constexpr Duration probe_limit = 60s;  // a driver may compile for many seconds when it is first used

// The path of vectis-probe: relative to the library in a build tree or installation, else the installed path.
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

// Why a probe process gave no result.
std::string probe_failure(const ProcessResult& result, const std::string& program) {
  const std::string output = last_line(result.error);
  const std::string suffix = output.empty() ? "" : fmt::format("; its last output: {}", output);
  switch (result.end) {
    case ProcessResult::End::killed:
      return fmt::format("loading it ended the probe with signal {}{}", result.code, suffix);
    case ProcessResult::End::timed_out:
      return fmt::format("loading it took longer than {} s{}", probe_limit / 1s, suffix);
    case ProcessResult::End::exited:
      return fmt::format("loading it ended the probe with exit status {}{}", result.code, suffix);
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
  diagnosis.reason = probe_failure(result, program);
  return {diagnosis, {}};
}

DeviceSummary summary_of(const DeviceInfo& device) {
  return {device.name, device.driver, device.software, detail::runs_kernels(device), device.physical_id};
}

bool software_only(const Diagnosis& diagnosis) {
  return std::ranges::all_of(diagnosis.devices, &DeviceSummary::software);
}

bool is_working_gpu(const DeviceSummary& device) { return !device.software && device.runs_kernels; }

std::string ready_advice(const Os& os, const Diagnosis& diagnosis) {
  if (software_only(diagnosis)) return detail::software_advice(os, diagnosis.backend);
  return detail::advice_for_words(diagnosis.backend, diagnosis.reason);
}

Diagnosis with_advice(const Os& os, const Finding& finding) {
  Diagnosis diagnosis = finding.diagnosis;
  if (diagnosis.state == BackendState::ready) {
    diagnosis.advice = ready_advice(os, diagnosis);
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
  std::ranges::transform(cpu.devices, std::back_inserter(diagnosis.devices), summary_of);
  return diagnosis;
}

// Names the preferred backend of each card that several backends see. `backends` must be in the automatic order.
void mark_same_cards(std::vector<Diagnosis>& backends) {
  std::map<std::string, std::pair<std::string, std::string>> preferred;  // backend and label, by physical id
  for (Diagnosis& diagnosis : backends) {
    for (std::size_t index = 0; index < diagnosis.devices.size(); ++index) {
      DeviceSummary& device = diagnosis.devices[index];
      if (device.physical_id.empty() || !is_working_gpu(device)) continue;
      const auto [first, is_first] =
          preferred.try_emplace(device.physical_id, diagnosis.backend, fmt::format("{}:{}", diagnosis.backend, index));
      if (!is_first && first->second.first != diagnosis.backend) device.same_card_as = first->second.second;
    }
  }
}

// What follows a device's name: " (software driver)".
std::string remark(const DeviceSummary& device) {
  if (device.software) return " (software driver)";
  if (!device.runs_kernels) return " (can run no kernels: used only on request)";
  return device.same_card_as.empty() ? "" : fmt::format(" (the same card as {})", device.same_card_as);
}

void print_field(std::ostream& out, std::string_view label, std::string_view text) {
  if (!text.empty()) fmt::print(out, "  {:<9} {}\n", label, text);
}

void print_one(std::ostream& out, const Diagnosis& diagnosis) {
  const bool ready = diagnosis.state == BackendState::ready;
  fmt::print(out, "\n{}: {}\n", diagnosis.backend,
             ready ? "found" : fmt::format("not usable, {}", name(diagnosis.state)));
  for (const DeviceSummary& device : diagnosis.devices) {
    print_field(out, "device", device.name + remark(device));
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
  report.warnings = runtime.settings().warnings();
  std::ranges::copy(detail::configuration_warnings(os, runtime.settings()), std::back_inserter(report.warnings));
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
  mark_same_cards(report.backends);
  return report;
}

void print(std::ostream& out, const DoctorReport& report) {
  fmt::print(out, "Vectis {} on {}\n", version(), report.system);
  for (const std::string& warning : report.warnings) fmt::print(out, "warning: {}\n", warning);
  for (const Diagnosis& diagnosis : report.backends) print_one(out, diagnosis);
  const auto is_gpu = [](const Diagnosis& one) {
    return one.backend != "cpu" && one.state == BackendState::ready && std::ranges::any_of(one.devices, is_working_gpu);
  };
  fmt::print(out, "\n{}\n",
             std::ranges::any_of(report.backends, is_gpu) ? "A GPU is ready to be used."
                                                          : "No GPU is usable: Vectis computes on the CPU.");
}

void probe(std::ostream& out, Runtime& runtime, const std::string& path) {
  // A plug-in that wraps another backend looks it up while it opens: the other one is opened then.
  std::list<detail::OpenedBackend> wrapped;
  const auto finder = [&](const std::string& wanted, const VectisBackend** table, VectisBackendState** state) {
    if (wanted == "cpu") {
      wrapped.push_back(detail::open_builtin_cpu(runtime));
    } else {
      const auto files = detail::find_plugins(runtime.os(), runtime.settings());
      const auto file = std::ranges::find(files, wanted, &detail::PluginFile::name);
      if (file == files.end() || file->path == path) return false;
      wrapped.push_back(detail::open_plugin(runtime, *file, {}));
    }
    if (wrapped.back().core == nullptr) return false;
    *table = &wrapped.back().core->slots;
    *state = wrapped.back().core->state;
    return true;
  };
  const detail::OpenedBackend opened = detail::open_plugin(runtime, detail::plugin_at(path), finder);
  const BackendStatus& status = opened.status;
  Diagnosis diagnosis{status.name, status.path, status.requirement, status.state, status.reason, {}, {}};
  std::ranges::transform(opened.devices, std::back_inserter(diagnosis.devices), summary_of);
  out << detail::to_line(diagnosis, status.install) << '\n';
}

}  // namespace vectis::inline v0_1
