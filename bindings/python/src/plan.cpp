// What vectis.plan offers: device profiles, and predictions and choices for workloads.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "calls.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "html.hpp"
#include "options.hpp"
#include "runtime.hpp"
#include "text.hpp"
#include "units.hpp"
#include "vectis/plan/planner.hpp"
#include "vectis/plan/profile.hpp"
#include "vectis/plan/workload.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using Numbers = std::map<std::string, double>;

// vectis.plan.Placement: a workload on a device, or on one that is known only by its profile.
struct PyPlacement {
  Runtime* runtime;
  std::shared_ptr<const DeviceProfile> simulated;  // what `placement` refers to; null for a device
  Placement placement;
};

// Throws InvalidInput unless a time or rate of a DeviceProfile is a number that devices can have.
double check_speed(double value, std::string_view what) {
  if (std::isfinite(value) && value >= 0) return value;
  throw_invalid_input("DeviceProfile", fmt::format("{} is {}; times and rates are finite and 0 or more", what, value));
}

ByPrecision parse_numbers(const Numbers& numbers, std::string_view op) {
  ByPrecision parsed;
  for (const auto& [key, value] : numbers) parsed.at(parse_precision(key, op)) = value;
  return parsed;
}

Numbers numbers_of(const ByPrecision& values) {
  Numbers numbers;
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    numbers.emplace(name(precision), values.at(precision));
  }
  return numbers;
}

CopySpeed parse_copy(const std::pair<double, double>& speed, std::string_view what) {
  return {check_speed(speed.first, what), check_speed(speed.second, what)};
}

void make_workload(Workload* self, std::string name, const std::variant<double, Numbers>& operations, double bytes,
                   double copy_in_bytes, double copy_out_bytes, double launches, double kernels_to_compile,
                   double host_seconds, double efficiency) {
  const auto* const fp32 = std::get_if<double>(&operations);
  new (self) Workload{.name = std::move(name),
                      .operations = fp32 != nullptr ? ByPrecision{.fp32 = *fp32}
                                                    : parse_numbers(std::get<Numbers>(operations), "Workload"),
                      .bytes = bytes,
                      .copy_in_bytes = copy_in_bytes,
                      .copy_out_bytes = copy_out_bytes,
                      .launches = launches,
                      .kernels_to_compile = kernels_to_compile,
                      .host_seconds = host_seconds,
                      .efficiency = efficiency};
}

void make_placement(PyPlacement* self, const std::variant<DeviceProfile, PyDevice, int, std::string>& device,
                    const Workload& workload, const std::string& label) {
  if (const auto* profile = std::get_if<DeviceProfile>(&device)) {
    auto simulated = std::make_shared<const DeviceProfile>(*profile);
    new (self) PyPlacement{&runtime(), simulated, Placement(*simulated, workload, label)};
    return;
  }
  DeviceArgument argument = 0;
  if (const auto* found = std::get_if<PyDevice>(&device)) argument = *found;
  if (const auto* id = std::get_if<int>(&device)) argument = *id;
  if (const auto* text = std::get_if<std::string>(&device)) argument = *text;
  const PyDevice found = find_device(argument);
  new (self) PyPlacement{found.runtime, nullptr, Placement(found.device, workload, label)};
}

Choice choose_placement(const std::vector<PyPlacement>& candidates) {
  std::vector<Placement> placements;
  placements.reserve(candidates.size());
  for (const PyPlacement& candidate : candidates) placements.push_back(candidate.placement);
  Runtime& used = candidates.empty() ? runtime() : *candidates.front().runtime;
  const Call call;
  return call.run([&](const Context&) { return planner(used).choose(placements); });
}

std::string device_profile_html(const DeviceProfile& profile) {
  const ByPrecision& rates = profile.operations_per_second;
  return html_table({}, {{"device", profile.device},
                         {"launch", format_seconds(profile.launch_seconds)},
                         {"compile", format_seconds(profile.compile_seconds)},
                         {"copy to the device", format_rate(profile.to_device.bytes_per_second, "B")},
                         {"copy to the host", format_rate(profile.to_host.bytes_per_second, "B")},
                         {"memory", format_rate(profile.memory_bytes_per_second, "B")},
                         {"fp32", format_rate(rates.fp32, "op")},
                         {"fp16", format_rate(rates.fp16, "op")},
                         {"bf16", format_rate(rates.bf16, "op")},
                         {"int8", format_rate(rates.int8, "op")},
                         {"measurements", fmt::to_string(profile.measurements)},
                         {"complete", profile.complete ? "yes" : "no"}});
}

TableRow assessment_row(const Assessment& assessment) {
  return {assessment.label, format_seconds(assessment.predicted.seconds()),
          assessment.measured ? format_seconds(*assessment.measured) : "", fmt::to_string(assessment.records),
          assessment.excluded};
}

std::string assessments_html(const std::vector<Assessment>& assessments) {
  std::vector<TableRow> rows;
  rows.reserve(assessments.size());
  for (const Assessment& assessment : assessments) rows.push_back(assessment_row(assessment));
  return html_table({"candidate", "predicted", "measured", "records", "excluded because"}, rows);
}

std::string explain_choice(const Choice& choice) { return without_last_newline(choice.explain()); }

void bind_profile(nb::module_& module) {
  nb::class_<CopySpeed>(module, "CopySpeed", "A copy of n bytes takes call_seconds + n / bytes_per_second.")
      .def_ro("call_seconds", &CopySpeed::call_seconds)
      .def_ro("bytes_per_second", &CopySpeed::bytes_per_second);
  nb::class_<DeviceProfile>(module, "DeviceProfile",
                            "The measured speed of a device. A rate of 0 was not measured.\n\n"
                            "Make one to plan for a device that is not there.")
      .def(
          "__init__",
          [](DeviceProfile* self, std::string device, double launch_seconds, double compile_seconds,
             const std::pair<double, double>& to_device, const std::pair<double, double>& to_host,
             double memory_bytes_per_second, const Numbers& operations_per_second) {
            for (const auto& [key, value] : operations_per_second) check_speed(value, "operations_per_second");
            new (self) DeviceProfile{
                .device = std::move(device),
                .launch_seconds = check_speed(launch_seconds, "launch_seconds"),
                .compile_seconds = check_speed(compile_seconds, "compile_seconds"),
                .to_device = parse_copy(to_device, "to_device"),
                .to_host = parse_copy(to_host, "to_host"),
                .memory_bytes_per_second = check_speed(memory_bytes_per_second, "memory_bytes_per_second"),
                .operations_per_second = parse_numbers(operations_per_second, "DeviceProfile"),
                .complete = true};
          },
          "device"_a, nb::kw_only(), "launch_seconds"_a, "compile_seconds"_a = 0.0, "to_device"_a, "to_host"_a,
          "memory_bytes_per_second"_a, "operations_per_second"_a,
          "Describe a device by name; copies by (call_seconds, bytes_per_second), operations by precision.")
      .def_ro("device", &DeviceProfile::device, "Label of the device, or the name of a simulated one.")
      .def_ro("launch_seconds", &DeviceProfile::launch_seconds, "Latency of an empty kernel.")
      .def_ro("compile_seconds", &DeviceProfile::compile_seconds, "Time of a kernel that is in no cache.")
      .def_ro("to_device", &DeviceProfile::to_device)
      .def_ro("to_host", &DeviceProfile::to_host)
      .def_ro("memory_bytes_per_second", &DeviceProfile::memory_bytes_per_second, "Of device memory, reads and writes.")
      .def_prop_ro(
          "operations_per_second", [](const DeviceProfile& self) { return numbers_of(self.operations_per_second); },
          "By precision, in matrix products; a multiply-add counts as two.")
      .def_ro("resolution_seconds", &DeviceProfile::resolution_seconds, "Of the clock.")
      .def_ro("calibration_seconds", &DeviceProfile::calibration_seconds, "How long the last calibration took.")
      .def_ro("measured_at", &DeviceProfile::measured_at, "Time of the last calibration, seconds since 1970 UTC.")
      .def_ro("measurements", &DeviceProfile::measurements, "Calibrations of which this is the best.")
      .def_ro("complete", &DeviceProfile::complete, "False when the time for the calibration ran out.")
      .def("__repr__",
           [](const DeviceProfile& self) {
             return fmt::format(
                 "DeviceProfile(device='{}', launch_seconds={:.3g}, memory_bytes_per_second={:.3g}, "
                 "operations_per_second={:.3g})",
                 self.device, self.launch_seconds, self.memory_bytes_per_second, self.operations_per_second.fp32);
           })
      .def("_repr_html_", &device_profile_html);
}

void bind_workload(nb::module_& module) {
  nb::class_<Workload>(module, "Workload", "The resources that one piece of work needs.")
      .def("__init__", &make_workload, "name"_a = "", nb::kw_only(), "operations"_a = 0.0, "bytes"_a = 0.0,
           "copy_in_bytes"_a = 0.0, "copy_out_bytes"_a = 0.0, "launches"_a = 1.0, "kernels_to_compile"_a = 0.0,
           "host_seconds"_a = 0.0, "efficiency"_a = 1.0,
           "Describe a piece of work.\n\n"
           "name: the algorithm, under which its times are recorded; not its size.\n"
           "operations: arithmetic in fp32, or by precision; a multiply-add counts as two.\n"
           "bytes: read and written in device memory.\n"
           "copy_in_bytes, copy_out_bytes: to the device and back; leave out what is there already.\n"
           "launches: kernel launches that wait for each other.\n"
           "kernels_to_compile: kernels that are in no cache.\n"
           "host_seconds: time of the CPU that does not overlap with the device.\n"
           "efficiency: fraction of the device's peak rate that this work reaches.")
      .def_ro("name", &Workload::name)
      .def_prop_ro("operations", [](const Workload& self) { return numbers_of(self.operations); })
      .def_ro("bytes", &Workload::bytes)
      .def_ro("copy_in_bytes", &Workload::copy_in_bytes)
      .def_ro("copy_out_bytes", &Workload::copy_out_bytes)
      .def_ro("launches", &Workload::launches)
      .def_ro("kernels_to_compile", &Workload::kernels_to_compile)
      .def_ro("host_seconds", &Workload::host_seconds)
      .def_ro("efficiency", &Workload::efficiency);
  nb::class_<PyPlacement>(module, "Placement", "A workload on one device: a candidate of choose().")
      .def("__init__", &make_placement, "device"_a, "workload"_a, "label"_a = "",
           "Place a workload on a device, or on one that is known only by its profile.")
      .def_prop_ro(
          "label", [](const PyPlacement& self) { return self.placement.label; }, "Its name in explanations.")
      .def_prop_ro(
          "device", [](const PyPlacement& self) { return self.placement.device_label(); },
          "Label of the device, or the name in the profile.")
      .def_prop_ro("workload", [](const PyPlacement& self) { return self.placement.workload; })
      .def("__repr__", [](const PyPlacement& self) {
        return fmt::format("Placement(device='{}', workload='{}', label='{}')", self.placement.device_label(),
                           self.placement.workload.name, self.placement.label);
      });
}

void bind_choice(nb::module_& module) {
  nb::class_<Prediction>(module, "Prediction", "The predicted time of a workload on a device, by component.")
      .def_ro("launch", &Prediction::launch)
      .def_ro("compile", &Prediction::compile)
      .def_ro("copy", &Prediction::copy)
      .def_ro("compute", &Prediction::compute, "Arithmetic or memory, whichever takes longer.")
      .def_ro("host", &Prediction::host)
      .def_ro("correction", &Prediction::correction, "Factor learned from recorded times.")
      .def_ro("deviation", &Prediction::deviation, "Standard deviation of log(correction).")
      .def_prop_ro("seconds", &Prediction::seconds, "The sum of the components times the correction.");
  nb::class_<Assessment>(module, "Assessment", "What the planner knows about one candidate.")
      .def_ro("label", &Assessment::label)
      .def_ro("predicted", &Assessment::predicted)
      .def_ro("measured", &Assessment::measured, "Median of the recorded times at this size in seconds, or None.")
      .def_ro("records", &Assessment::records, "Recorded times of this workload on this device, of all sizes.")
      .def_ro("excluded", &Assessment::excluded, "Why it cannot be chosen; empty when it can.")
      .def("__repr__",
           [](const Assessment& self) {
             return fmt::format("Assessment(label='{}', predicted={:.4g} s, records={})", self.label,
                                self.predicted.seconds(), self.records);
           })
      .def("_repr_html_", [](const Assessment& self) { return assessments_html({self}); });
  nb::class_<Choice>(module, "Choice", "The candidate that choose() chose, and why.")
      .def_ro("index", &Choice::index, "Position of the chosen candidate.")
      .def_ro("candidates", &Choice::candidates, "An Assessment for each candidate.")
      .def_ro("explored", &Choice::explored, "Whether it was chosen to learn its time.")
      .def_ro("reason", &Choice::reason, "Why, in one sentence.")
      .def("explain", &explain_choice, "Return the reason and a table of all candidates as text.")
      .def("__str__", &explain_choice)
      .def("__repr__", &explain_choice)
      .def("_repr_html_", [](const Choice& self) {
        return fmt::format("<p>{}</p>{}", escape_html(self.reason), assessments_html(self.candidates));
      });
}

template <class Function>
DeviceProfile profile_by(const std::optional<DeviceArgument>& device, const Function& function) {
  const PyDevice found = find_device(device);
  const Call call;
  return call.run([&](const Context&) -> DeviceProfile { return function(found.device); });
}

}  // namespace

void bind_plan(nb::module_& module) {
  bind_profile(module);
  bind_workload(module);
  bind_choice(module);
  using Optional = std::optional<DeviceArgument>;
  module.def(
      "plan_profile",
      [](const Optional& device) {
        return profile_by(device, [](const Device& found) -> const DeviceProfile& { return vectis::profile(found); });
      },
      "device"_a = nb::none(),
      "Return the speed of a device, None: of the active one, from the cache or measured in half a second.");
  module.def(
      "plan_calibrate",
      [](const Optional& device) { return profile_by(device, [](const Device& found) { return calibrate(found); }); },
      "device"_a = nb::none(), "Measure a device now and return that measurement; the cache is not used.");
  module.def(
      "plan_recalibrate",
      [](const Optional& device) { return profile_by(device, [](const Device& found) { return recalibrate(found); }); },
      "device"_a = nb::none(),
      "Measure a device now, combine it with the cached profile, and cache the better values.");
  module.def(
      "plan_assess",
      [](const PyPlacement& candidate) {
        const Call call({.only_reads = true});
        return call.run([&](const Context&) { return planner(*candidate.runtime).assess(candidate.placement); });
      },
      "candidate"_a, "Return the predicted and the measured time of one candidate.");
  module.def("plan_choose", &choose_placement, "candidates"_a,
             nb::sig("def plan_choose(candidates: collections.abc.Sequence[Placement]) -> Choice"),
             "Choose the candidate with the shortest predicted time, or an uncertain one to learn its time.");
  module.def(
      "plan_record",
      [](const PyPlacement& candidate, double seconds) {
        const Call call;
        call.run([&](const Context&) { planner(*candidate.runtime).record(candidate.placement, seconds); });
      },
      "candidate"_a, "seconds"_a,
      "Record how long a candidate took, from its first copy to its result; later predictions learn from it.");
}

}  // namespace vectis::python
