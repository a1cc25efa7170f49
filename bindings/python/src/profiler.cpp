// vectis.profile().
#include "vectis/kernel/profiler.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
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
#include "vectis/base/file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// A profiler that records while at least one `with` has entered it. Call its methods without the GIL. They throw Forked
// in a forked child, where another thread of the parent may have held a lock of the profiler.
class Recording {
 public:
  Recording(Runtime& runtime, const ProfilerOptions& options) : runtime_(runtime), profiler_(runtime, options) {
    profiler_.pause();
  }

  [[nodiscard]] Profiler& profiler() {
    runtime_.check_fork("profile");
    return profiler_;
  }
  void enter() {
    runtime_.check_fork("profile");
    const std::scoped_lock lock(mutex_);
    if (entered_ == 0) profiler_.resume();
    ++entered_;
  }
  void exit() {
    runtime_.check_fork("profile");
    const std::scoped_lock lock(mutex_);
    if (entered_ != 0 && --entered_ == 0) profiler_.pause();
  }

 private:
  Runtime& runtime_;
  Profiler profiler_;
  std::mutex mutex_;
  std::size_t entered_ = 0;  // guarded by mutex_
};

// vectis.Profile: records between __enter__ and __exit__.
struct PyProfile {
  std::unique_ptr<Recording, DestroyWithoutGil> recording;

  // Calls the function with the profiler, without the GIL.
  template <class Function>
  auto run(const Function& function) const {
    const Call call({.only_reads = true});
    return call.run([&](const Context&) { return function(recording->profiler()); });
  }
};

// A range of a profile, open between __enter__ and __exit__. The binding keeps the profile alive.
struct PyProfileRange {
  Recording* recording;
  std::string name;
  std::uint64_t bytes;
  int device;
  std::unique_ptr<ProfileRange> open;
};

double as_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

PyProfile make_profile(std::size_t capacity, bool device_times) {
  Runtime& used = runtime();
  const Call call;
  return {std::unique_ptr<Recording, DestroyWithoutGil>(call.run(
      [&](const Context&) { return new Recording(used, {.capacity = capacity, .device_times = device_times}); }))};
}

std::vector<ProfileRow> profile_rows(const PyProfile& self) {
  return self.run([](const Profiler& profiler) { return profiler.rows(); });
}

std::string profile_text(const PyProfile& self) {
  std::ostringstream out;
  self.run([&](const Profiler& profiler) { profiler.print_summary(out); });
  return without_last_newline(std::move(out).str());
}

void write_trace(const PyProfile& self, nb::handle path) {
  const std::string target = file_path(path);
  self.run([&](const Profiler& profiler) {
    AtomicFileWriter writer(target);
    profiler.write_trace(writer);
    writer.commit();
  });
}

std::string profile_html(const PyProfile& self) {
  std::vector<TableRow> rows;
  for (const ProfileRow& row : profile_rows(self)) {
    rows.push_back({row.name, row.device, fmt::to_string(row.calls), format_seconds(as_seconds(row.total)),
                    format_seconds(row.mean_nanoseconds() * 1e-9), format_seconds(as_seconds(row.min)),
                    format_seconds(as_seconds(row.max)),
                    row.bytes == 0 ? "" : fmt::format("{:.2f}", row.gigabytes_per_second()),
                    std::string(name(row.clock))});
  }
  return html_table({"name", "device", "calls", "total", "mean", "min", "max", "GB/s", "clock"}, rows);
}

void bind_rows(nb::module_& module) {
  nb::class_<ProfileRow>(module, "ProfileRow", "All calls of one name on one device.")
      .def_ro("name", &ProfileRow::name)
      .def_ro("device", &ProfileRow::device, "Label of the device; empty: the host.")
      .def_prop_ro(
          "clock", [](const ProfileRow& self) { return std::string(name(self.clock)); },
          "'device' or 'host': where the times were measured.")
      .def_ro("calls", &ProfileRow::calls, "Completed calls.")
      .def_ro("failed", &ProfileRow::failed)
      .def_prop_ro("total_seconds", [](const ProfileRow& self) { return as_seconds(self.total); })
      .def_prop_ro("mean_seconds", [](const ProfileRow& self) { return self.mean_nanoseconds() * 1e-9; })
      .def_prop_ro("min_seconds", [](const ProfileRow& self) { return as_seconds(self.min); })
      .def_prop_ro("max_seconds", [](const ProfileRow& self) { return as_seconds(self.max); })
      .def_ro("bytes", &ProfileRow::bytes, "Bytes that the calls processed.")
      .def_prop_ro("gigabytes_per_second", &ProfileRow::gigabytes_per_second)
      .def("__repr__", [](const ProfileRow& self) {
        return fmt::format("ProfileRow(name='{}', device='{}', calls={}, total_seconds={:.6g})", self.name, self.device,
                           self.calls, as_seconds(self.total));
      });
  nb::class_<ProfileLosses>(module, "ProfileLosses", "What a profile could not record, or not completely.")
      .def_ro("dropped", &ProfileLosses::dropped, "Records missing in the trace: raise the capacity.")
      .def_ro("untimed", &ProfileLosses::untimed, "Work without times of the device: those of the host are used.")
      .def_ro("other_names", &ProfileLosses::other_names, "Calls counted under '(other names)'.");
}

void bind_range(nb::module_& module) {
  nb::class_<PyProfileRange>(module, "ProfileRange", "A named section of a thread, from Profile.range().")
      .def(
          "__enter__",
          [](nb::handle_t<PyProfileRange> self) {
            auto& range = nb::cast<PyProfileRange&>(self);
            if (range.open) throw_invalid_input("range", "the range is open; make another one");
            range.open =
                std::make_unique<ProfileRange>(range.recording->profiler(), range.name, range.bytes, range.device);
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> ProfileRange"))
      .def(
          "__exit__", [](PyProfileRange& self, const nb::args&) { self.open.reset(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
}

}  // namespace

void bind_profiler(nb::module_& module) {
  bind_rows(module);
  bind_range(module);
  nb::class_<PyProfile>(
      module, "Profile",
      "Records every launch, operation, copy and fill of all devices, from profile().\n\n"
      "    with vectis.profile() as profile:\n"
      "        with profile.range('step'):\n"
      "            kernel.launch(n, x, y, n)\n"
      "    print(profile)\n"
      "    profile.write_trace('trace.json')   # opens in ui.perfetto.dev\n\n"
      "It can be entered again, which adds to the records, also while it records: it does so until every `with`\n"
      "has ended.")
      .def(
          "__enter__",
          [](nb::handle_t<PyProfile> self) {
            const auto& profile = nb::cast<const PyProfile&>(self);
            const Call call;
            call.run([&](const Context&) { profile.recording->enter(); });
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> Profile"))
      .def(
          "__exit__",
          [](const PyProfile& self, const nb::args&) {
            const Call call;
            call.run([&](const Context&) { self.recording->exit(); });
          },
          nb::sig("def __exit__(self, *exception: object) -> None"))
      .def(
          "range",
          [](const PyProfile& self, std::string name, std::uint64_t bytes,
             const std::optional<DeviceArgument>& device) {
            const int id = device ? find_device(device).device.id() : -1;
            return PyProfileRange{self.recording.get(), std::move(name), bytes, id, nullptr};
          },
          "name"_a, "bytes"_a = 0, "device"_a = nb::none(), nb::keep_alive<0, 1>(),
          "Return a context manager that records a section of this thread; `bytes` is what it processes.")
      .def("rows", &profile_rows, "Wait for recorded work and return the totals by name and device, largest first.")
      .def_prop_ro(
          "losses",
          [](const PyProfile& self) { return self.run([](const Profiler& profiler) { return profiler.losses(); }); },
          "What could not be recorded.")
      .def(
          "clear", [](const PyProfile& self) { self.run([](Profiler& profiler) { profiler.clear(); }); },
          "Discard all records.")
      .def("write_trace", &write_trace, "path"_a,
           nb::sig("def write_trace(self, path: str | os.PathLike[str]) -> None"),
           "Write a trace for ui.perfetto.dev or chrome://tracing.")
      .def("__str__", &profile_text)
      .def("__repr__", &profile_text)
      .def("_repr_html_", &profile_html);
  module.def("profile", &make_profile, nb::kw_only(), "capacity"_a = ProfilerOptions().capacity,
             "device_times"_a = true,
             "Return a context manager that records the work of all devices.\n\n"
             "capacity: records that the trace holds; older ones are dropped, the totals include them.\n"
             "device_times: False measures with the clock of the host alone, which disturbs the work less.");
}

}  // namespace vectis::python
