// vectis.Device, devices(), backends(), doctor() and the selection of a device.
#include "devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "calls.hpp"
#include "html.hpp"
#include "runtime.hpp"
#include "units.hpp"
#include "vectis/base/format.hpp"
#include "vectis/device/doctor.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// The devices of a Runtime in the order of their ids.
struct DeviceList {
  std::vector<PyDevice> devices;
};

// A backend of a Runtime; `status` is valid as long as the Runtime, which is never destroyed.
struct PyBackend {
  Runtime* runtime;
  const BackendStatus* status;
};

// Calls a function of <vectis/device/selection.hpp> with the Runtime of the module, without the GIL.
template <class Function>
auto with_runtime(const Function& function) {
  Runtime& used = runtime();
  const Call call({.only_reads = true});
  return call.run([&](const Context&) { return function(used); });
}

std::vector<std::string> capability_names(const PyDevice& self) {
  const auto names = self.device.info().capabilities.names();
  return {names.begin(), names.end()};
}

std::string kind_text(const DeviceInfo& info) {
  return info.software ? fmt::format("{}, software", name(info.kind)) : std::string(name(info.kind));
}

TableRow device_row(const PyDevice& self) {
  const DeviceInfo& info = self.device.info();
  return {fmt::to_string(self.device.id()),
          self.device.label(),
          info.name,
          kind_text(info),
          format_bytes(info.memory_bytes),
          fmt::format("{}", fmt::join(info.capabilities.names(), " "))};
}

std::string device_html(const PyDevice& self) {
  const DeviceInfo& info = self.device.info();
  return html_table({}, {{"device", self.device.label()},
                         {"id", fmt::to_string(self.device.id())},
                         {"name", info.name},
                         {"vendor", info.vendor},
                         {"driver", info.driver},
                         {"kind", kind_text(info)},
                         {"compute units", fmt::to_string(info.compute_units)},
                         {"memory", format_bytes(info.memory_bytes)},
                         {"capabilities", fmt::format("{}", fmt::join(info.capabilities.names(), " "))},
                         {"compiles", fmt::format("{}", fmt::join(info.dialects, ", "))}});
}

std::string describe_device(const PyDevice& self) {
  const DeviceInfo& info = self.device.info();
  return fmt::format("Device('{}', id={}, name='{}', kind='{}'{})", self.device.label(), self.device.id(), info.name,
                     name(info.kind), info.software ? ", software=True" : "");
}

std::vector<PyDevice> with_runtime_of(Runtime& used, const std::vector<Device>& devices) {
  std::vector<PyDevice> all;
  all.reserve(devices.size());
  for (const Device& device : devices) all.push_back({&used, device});
  return all;
}

DeviceList list_devices() {
  return with_runtime(
      [](Runtime& used) { return DeviceList{with_runtime_of(used, used.service<DeviceRegistry>().devices())}; });
}

std::vector<PyBackend> list_backends() {
  return with_runtime([](Runtime& used) {
    std::vector<PyBackend> all;
    for (const BackendStatus& status : used.service<DeviceRegistry>().backends()) all.push_back({&used, &status});
    return all;
  });
}

std::string doctor_text(const DoctorReport& report) {
  std::ostringstream out;
  print(out, report);
  return without_last_newline(std::move(out).str());
}

std::string doctor_html(const DoctorReport& report) {
  std::vector<TableRow> rows;
  for (const Diagnosis& diagnosis : report.backends) {
    std::vector<std::string> devices;
    devices.reserve(diagnosis.devices.size());
    for (const DeviceSummary& device : diagnosis.devices) {
      devices.push_back(device.software ? device.name + " (software)" : device.name);
    }
    rows.push_back({diagnosis.backend, std::string(name(diagnosis.state)), fmt::format("{}", fmt::join(devices, ", ")),
                    diagnosis.reason, diagnosis.advice});
  }
  std::string html = fmt::format("<p>{}</p>", escape_html(report.system));
  for (const std::string& warning : report.warnings) html += fmt::format("<p>{}</p>", escape_html(warning));
  return html + html_table({"backend", "state", "devices", "reason", "advice"}, rows);
}

void bind_limits(nb::module_& module) {
  nb::class_<DeviceLimits>(module, "DeviceLimits", "The limits of a device, as its driver reports them.")
      .def_ro("allocation_bytes_max", &DeviceLimits::allocation_bytes_max, "Bytes of one allocation.")
      .def_prop_ro(
          "binding_bytes_max",
          [](const DeviceLimits& self) { return std::min(self.binding_bytes_max, self.allocation_bytes_max); },
          "Bytes of one memory that a kernel can access.")
      .def_ro("memory_alignment", &DeviceLimits::memory_alignment, "Alignment of allocations in bytes.")
      .def_ro("shared_bytes_max", &DeviceLimits::shared_bytes_max, "Bytes of shared memory of one work-group.")
      .def_ro("group_items_max", &DeviceLimits::group_items_max, "Work-items of one work-group.")
      .def_prop_ro(
          "group_size_max",
          [](const DeviceLimits& self) {
            return nb::make_tuple(self.group_size_max[0], self.group_size_max[1], self.group_size_max[2]);
          },
          nb::sig("def group_size_max(self) -> tuple[int, int, int]"),
          "Work-items of one work-group in each dimension.");
  nb::class_<DeviceMemoryState>(module, "DeviceMemoryState", "Total and free memory of a device at one moment.")
      .def_ro("total_bytes", &DeviceMemoryState::total_bytes)
      .def_ro("free_bytes", &DeviceMemoryState::free_bytes, "What all processes together have left.")
      .def("__repr__", [](const DeviceMemoryState& self) {
        return fmt::format("DeviceMemoryState(total_bytes={}, free_bytes={})", self.total_bytes, self.free_bytes);
      });
}

void bind_device(nb::module_& module) {
  nb::class_<PyDevice>(module, "Device",
                       "A device of this machine, from devices().\n\n"
                       "Calls with an argument `device` take it, its id, its label, or the name of its backend.")
      .def_prop_ro(
          "id", [](const PyDevice& self) { return self.device.id(); }, "Position among all devices, from 0.")
      .def_prop_ro(
          "label", [](const PyDevice& self) { return self.device.label(); },
          "Backend and index of the device in it, such as 'opencl:0'.")
      .def_prop_ro(
          "backend", [](const PyDevice& self) { return std::string(self.device.backend()); },
          "Name of the backend, such as 'opencl'.")
      .def_prop_ro("name", [](const PyDevice& self) { return self.device.info().name; })
      .def_prop_ro("vendor", [](const PyDevice& self) { return self.device.info().vendor; })
      .def_prop_ro(
          "driver", [](const PyDevice& self) { return self.device.info().driver; }, "Version of the driver.")
      .def_prop_ro(
          "kind", [](const PyDevice& self) { return std::string(name(self.device.info().kind)); },
          "'cpu', 'gpu' or 'accelerator', as the driver reports it.")
      .def_prop_ro(
          "software", [](const PyDevice& self) { return self.device.info().software; },
          "Whether the driver computes on the CPU, as PoCL and llvmpipe do.")
      .def_prop_ro(
          "is_gpu", [](const PyDevice& self) { return self.device.is_gpu(); },
          "Whether this is a real GPU or accelerator: neither the CPU nor a software driver.")
      .def_prop_ro(
          "parent", [](const PyDevice& self) { return self.device.info().parent; },
          "Id of the device that this one is a part of, or None.")
      .def_prop_ro("compute_units", [](const PyDevice& self) { return self.device.info().compute_units; })
      .def_prop_ro(
          "memory_bytes", [](const PyDevice& self) { return self.device.info().memory_bytes; },
          "Bytes of the device's memory.")
      .def_prop_ro(
          "limits", [](const PyDevice& self) { return self.device.info().limits; }, "The limits of the device.")
      .def_prop_ro("capabilities", &capability_names, "What kernels may use: 'fp16', 'int8_dot', 'timestamps'.")
      .def_prop_ro(
          "dialects", [](const PyDevice& self) { return self.device.info().dialects; },
          "Languages of the kernels that the device compiles at run time; empty: none.")
      .def(
          "memory",
          [](const PyDevice& self) {
            const Call call({.only_reads = true});
            return call.run([&](const Context&) { return self.device.memory(); });
          },
          "Return total and free memory now; None when the driver cannot say.")
      .def(
          "utilization",
          [](const PyDevice& self) {
            const Call call({.only_reads = true});
            return call.run([&](const Context&) { return self.device.utilization(); });
          },
          "Return the fraction of recent time in which the device was busy; None when the driver cannot say.")
      .def(
          "__eq__",
          [](const PyDevice& self, nb::handle other) {
            const PyDevice* same = nullptr;
            return nb::try_cast(other, same) && same != nullptr && self.device == same->device;
          },
          nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](const PyDevice& self) { return std::hash<std::string>()(self.device.label()); })
      .def("__repr__", &describe_device)
      .def("_repr_html_", &device_html);
}

void bind_lists(nb::module_& module) {
  nb::class_<DeviceList>(module, "DeviceList", "The devices of this machine in the order of their ids.")
      .def("__len__", [](const DeviceList& self) { return self.devices.size(); })
      .def(
          "__getitem__",
          [](const DeviceList& self, std::int64_t index) {
            const auto size = static_cast<std::int64_t>(self.devices.size());
            if (index < -size || index >= size) throw nb::index_error("there is no such device");
            return self.devices[static_cast<std::size_t>(index < 0 ? index + size : index)];
          },
          "index"_a)
      .def(
          "__iter__", [](const DeviceList& self) { return nb::iter(nb::cast(self.devices)); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Device]"))
      .def("__repr__",
           [](const DeviceList& self) {
             std::vector<std::string> texts;
             texts.reserve(self.devices.size());
             for (const PyDevice& device : self.devices) texts.push_back(describe_device(device));
             return fmt::format("[{}]", fmt::join(texts, ",\n "));
           })
      .def("_repr_html_", [](const DeviceList& self) {
        std::vector<TableRow> rows;
        rows.reserve(self.devices.size());
        for (const PyDevice& device : self.devices) rows.push_back(device_row(device));
        return html_table({"id", "device", "name", "kind", "memory", "capabilities"}, rows);
      });

  nb::class_<PyBackend>(module, "Backend", "A backend, and whether it is ready or why it is not.")
      .def_prop_ro("name", [](const PyBackend& self) { return self.status->name; })
      .def_prop_ro(
          "path", [](const PyBackend& self) { return to_python_path(self.status->path); },
          "File of the plug-in; 'built in': the CPU.")
      .def_prop_ro("version", [](const PyBackend& self) { return self.status->version; })
      .def_prop_ro(
          "requirement", [](const PyBackend& self) { return self.status->requirement; }, "Versions that it needs.")
      .def_prop_ro(
          "state", [](const PyBackend& self) { return std::string(name(self.status->state)); },
          "'ready', 'no driver', 'no device', ...")
      .def_prop_ro(
          "reason", [](const PyBackend& self) { return self.status->reason; }, "Why it is not ready; else a note.")
      .def_prop_ro("devices",
                   [](const PyBackend& self) { return with_runtime_of(*self.runtime, self.status->devices); })
      .def("__repr__", [](const PyBackend& self) {
        return fmt::format("Backend('{}', state='{}', devices={})", self.status->name, name(self.status->state),
                           self.status->devices.size());
      });
}

void bind_doctor(nb::module_& module) {
  nb::class_<DeviceSummary>(module, "DeviceSummary", "A device that the doctor found.")
      .def_ro("name", &DeviceSummary::name)
      .def_ro("driver", &DeviceSummary::driver)
      .def_ro("software", &DeviceSummary::software, "Whether the driver computes on the CPU.")
      .def_ro("runs_kernels", &DeviceSummary::runs_kernels, "Whether kernels can be compiled for the device.")
      .def_ro("physical_id", &DeviceSummary::physical_id, "Equal for devices that share one memory; empty: unknown.")
      .def_ro("same_card_as", &DeviceSummary::same_card_as,
              "The label of a preferred device that is the same card; empty: none.");
  nb::class_<Diagnosis>(module, "Diagnosis", "The health of one backend.")
      .def_ro("backend", &Diagnosis::backend)
      .def_prop_ro(
          "path", [](const Diagnosis& self) { return to_python_path(self.path); }, "File of the plug-in.")
      .def_ro("requirement", &Diagnosis::requirement, "Versions that the backend needs.")
      .def_prop_ro(
          "state", [](const Diagnosis& self) { return std::string(name(self.state)); },
          "'ready', 'no driver', 'crashed', ...")
      .def_ro("reason", &Diagnosis::reason, "The words of the driver or the loader.")
      .def_ro("advice", &Diagnosis::advice, "What to install or change; empty when nothing is wrong.")
      .def_ro("devices", &Diagnosis::devices);
  nb::class_<DoctorReport>(module, "DoctorReport", "Which backends work, why others do not, and what to do about it.")
      .def_ro("system", &DoctorReport::system, "Name and version of the operating system.")
      .def_ro("warnings", &DoctorReport::warnings, "What is wrong with the configuration.")
      .def_ro("backends", &DoctorReport::backends, "A Diagnosis for each backend.")
      .def("__str__", &doctor_text)
      .def("__repr__", &doctor_text)
      .def("_repr_html_", &doctor_html);
  module.def(
      "doctor", [] { return with_runtime([](Runtime& used) { return diagnose(used); }); },
      "Diagnose every backend in a process of its own, and return which work and why others do not.");
}

void bind_selection(nb::module_& module) {
  module.def("devices", &list_devices,
             "Return all devices: GPUs and accelerators, then the CPU, then software drivers.");
  module.def("backends", &list_backends, "Return all backends in the order in which devices are chosen.");
  module.def(
      "default_device",
      [] { return with_runtime([](Runtime& used) { return PyDevice{&used, default_device(used)}; }); },
      "Return the device that the settings choose, or else the fastest.");
  module.def(
      "get_active_device",
      [] { return with_runtime([](Runtime& used) { return PyDevice{&used, active_device(used)}; }); },
      "Return the device that set_active_device() set in this thread, else the default device.");
  module.def(
      "set_active_device",
      [](const DeviceArgument& device) {
        const PyDevice found = find_device(device);
        without_gil([&] { set_active_device(found.device.id(), *found.runtime); });
      },
      "device"_a, "Use this device in the calling thread where calls name none. Other threads keep theirs.");
  module.def(
      "reset_active_device", [] { with_runtime([](Runtime& used) { reset_active_device(used); }); },
      "Undo set_active_device() in the calling thread.");
  module.def(
      "detect_best_backend", [] { return with_runtime([](Runtime& used) { return detect_best_backend(used); }); },
      "Return the backend of the first real GPU or accelerator, 'cpu' without one. Settings are not considered.");
  const auto def_available = [&](const char* name, bool (*available)(Runtime&), const char* doc) {
    module.def(name, [available] { return with_runtime([&](Runtime& used) { return available(used); }); }, doc);
  };
  def_available("is_gpu_available", &is_gpu_available, "Return whether a real GPU or accelerator can be used.");
  def_available("is_cuda_available", &is_cuda_available, "Return whether a GPU can be used through CUDA.");
  def_available("is_hip_available", &is_hip_available, "Return whether a GPU can be used through HIP (ROCm).");
  def_available("is_rocm_available", &is_rocm_available, "Return whether a GPU can be used through ROCm (HIP).");
  def_available("is_metal_available", &is_metal_available, "Return whether a GPU can be used through Metal.");
  def_available("is_webgpu_available", &is_webgpu_available, "Return whether a GPU can be used through WebGPU.");
  def_available("is_opencl_available", &is_opencl_available,
                "Return whether a real GPU can be used through OpenCL; software drivers such as PoCL do not count.");
}

}  // namespace

PyDevice find_device(const std::optional<DeviceArgument>& argument) {
  if (argument) {
    if (const auto* device = std::get_if<PyDevice>(&*argument)) return *device;
  }
  return with_runtime([&](Runtime& used) -> PyDevice {
    if (!argument) return {&used, active_device(used)};
    if (const auto* id = std::get_if<int>(&*argument)) return {&used, used.service<DeviceRegistry>().at(*id, "device")};
    return {&used, choose_device(used, {.device = std::get<std::string>(*argument)}).device};
  });
}

void bind_devices(nb::module_& module) {
  bind_limits(module);
  bind_device(module);
  bind_lists(module);
  bind_doctor(module);
  bind_selection(module);
}

}  // namespace vectis::python
