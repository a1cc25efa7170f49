// What vectis.memory offers: statistics, scopes and snapshots of the memory pool.
#include "memory.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
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
#include "memory_map.hpp"
#include "runtime.hpp"
#include "text.hpp"
#include "vectis/base/format.hpp"
#include "vectis/memory/pool.hpp"
#include "vectis/memory/scope.hpp"
#include "vectis/memory/snapshot.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// A scope between __enter__ and __exit__, as the contextvars of Python code in it refer to it. Guarded by the GIL.
struct ScopeEntry {
  std::string tag;
  bool open = true;  // false: code that still refers to it, such as a task made in the scope, has the tag of `outer`
  nb::object outer;  // the entry of the innermost scope around it, or None
};

constexpr const char* entry_name = "vectis.memory.scope";

// The contextvars.ContextVar that holds a capsule with the ScopeEntry of the innermost scope, or None.
PyObject* scope_variable() {
  static PyObject* const variable = PyContextVar_New(entry_name, Py_None);
  if (variable == nullptr) throw nb::python_error();
  return variable;
}

ScopeEntry& entry_of(nb::handle capsule) {
  return *static_cast<ScopeEntry*>(PyCapsule_GetPointer(capsule.ptr(), entry_name));
}

nb::object make_entry(std::string tag, nb::object outer) {
  auto entry = std::make_unique<ScopeEntry>(ScopeEntry{std::move(tag), true, std::move(outer)});
  nb::capsule made(entry.get(), entry_name, [](void* pointer) noexcept { delete static_cast<ScopeEntry*>(pointer); });
  static_cast<void>(entry.release());
  return made;
}

// Returns the entry of the innermost open scope around the calling code, or None.
nb::object innermost_entry() {
  PyObject* value = nullptr;
  if (PyContextVar_Get(scope_variable(), nullptr, &value) != 0) throw nb::python_error();
  nb::object entry = nb::steal(value);
  while (!entry.is_none() && !entry_of(entry).open) entry = entry_of(entry).outer;
  return entry;
}

void set_innermost_entry(nb::handle entry) {
  const nb::object token = nb::steal(PyContextVar_Set(scope_variable(), entry.ptr()));
  if (!token.is_valid()) throw nb::python_error();
}

// vectis.memory.scope(): measures between __enter__ and __exit__. Threads may share it; its members are guarded by the
// GIL.
class PyMemoryScope {
 public:
  PyMemoryScope(std::string tag, PyDevice device) : tag_(std::move(tag)), device_(std::move(device)) {
    if (tag_.empty()) throw_invalid_input("scope", "the tag is empty; name what the scope measures");
    check_no_nul(tag_, "scope", "the tag");
  }
  PyMemoryScope(PyMemoryScope&&) = default;
  PyMemoryScope& operator=(PyMemoryScope&&) = delete;
  PyMemoryScope(const PyMemoryScope&) = delete;
  PyMemoryScope& operator=(const PyMemoryScope&) = delete;
  ~PyMemoryScope() {
    if (entry_.is_valid()) entry_of(entry_).open = false;
  }

  void enter() {
    if (entry_.is_valid()) {
      throw_invalid_input("scope", "the scope is open; make another one to measure at the same time");
    }
    entry_ = make_entry(tag_, innermost_entry());  // from here on no other thread enters or leaves the scope
    try {
      const Call call({.only_reads = true});
      std::shared_ptr<MemoryScope> made(call.run([&](const Context&) {
        return new MemoryScope(memory_pool(*device_.runtime), device_.device.id(), tag_);
      }),
                                        DestroyWithoutGil());
      set_innermost_entry(entry_);
      scope_ = std::move(made);
    } catch (...) {
      entry_.reset();
      throw;
    }
  }

  void exit() {
    if (!scope_) return;  // not entered, or another thread is about to enter or leave it
    const std::shared_ptr<MemoryScope> left = std::move(scope_);
    live_bytes_ = left->live_bytes();
    peak_bytes_ = left->peak_bytes();
    const nb::object entry = std::move(entry_);
    entry_of(entry).open = false;
    // In another context, such as that of the task that closes an asynchronous generator, the entry is not the
    // innermost one, and the contexts that refer to it find it closed.
    set_innermost_entry(innermost_entry());
  }

  [[nodiscard]] const std::string& tag() const noexcept { return tag_; }
  [[nodiscard]] std::uint64_t live_bytes() const { return scope_ ? scope_->live_bytes() : live_bytes_; }
  [[nodiscard]] std::uint64_t peak_bytes() const { return scope_ ? scope_->peak_bytes() : peak_bytes_; }

 private:
  std::string tag_;
  PyDevice device_;
  std::shared_ptr<MemoryScope> scope_;  // null outside of `with`
  nb::object entry_;                    // set while a thread enters and within `with`
  std::uint64_t live_bytes_ = 0;        // at __exit__
  std::uint64_t peak_bytes_ = 0;
};

// Calls a function with the pool and the id of a device, without the GIL.
template <class Function>
auto with_pool(const std::optional<DeviceArgument>& argument, bool only_reads, const Function& function) {
  const PyDevice found = find_device(argument);
  const Call call({.only_reads = only_reads});
  return call.run([&](const Context&) { return function(memory_pool(*found.runtime), found.device.id()); });
}

std::string stats_html(const MemoryStats& stats) {
  std::string html = html_table({}, {{"in use", format_bytes(stats.in_use_bytes)},
                                     {"cached", format_bytes(stats.cached_bytes)},
                                     {"reserved", format_bytes(stats.reserved_bytes)},
                                     {"limit", format_bytes(stats.limit_bytes)},
                                     {"peak in use", format_bytes(stats.peak_in_use_bytes)},
                                     {"live buffers", fmt::to_string(stats.live_buffers)},
                                     {"hit rate", fmt::format("{:.1f} %", 100 * stats.hit_rate())},
                                     {"fragmentation", fmt::format("{:.1f} %", 100 * stats.fragmentation)}});
  if (stats.tags.empty()) return html;
  std::vector<TableRow> rows;
  rows.reserve(stats.tags.size());
  for (const TagUsage& usage : stats.tags) {
    rows.push_back({usage.tag, fmt::to_string(usage.live_buffers), format_bytes(usage.live_bytes),
                    format_bytes(usage.peak_bytes)});
  }
  return html + html_table({"tag", "live buffers", "live", "peak"}, rows);
}

std::string describe_stats(const MemoryStats& stats) {
  return fmt::format(
      "MemoryStats(in_use_bytes={}, cached_bytes={}, reserved_bytes={}, limit_bytes={}, live_buffers={})",
      stats.in_use_bytes, stats.cached_bytes, stats.reserved_bytes, stats.limit_bytes, stats.live_buffers);
}

template <void (*write)(std::ostream&, const MemorySnapshot&)>
std::string written(const MemorySnapshot& snapshot) {
  std::ostringstream out;
  write(out, snapshot);
  return std::move(out).str();
}

void bind_statistics(nb::module_& module) {
  nb::class_<MemoryUsage>(module, "MemoryUsage", "The bytes that the memory pool holds from a device.")
      .def_ro("allocated_bytes", &MemoryUsage::allocated_bytes, "Held now, in use and cached.")
      .def_ro("peak_bytes", &MemoryUsage::peak_bytes, "High-water mark of allocated_bytes.")
      .def("__repr__", [](const MemoryUsage& self) {
        return fmt::format("MemoryUsage(allocated_bytes={}, peak_bytes={})", self.allocated_bytes, self.peak_bytes);
      });
  nb::class_<TagUsage>(module, "TagUsage", "The live buffers of one memory tag.")
      .def_ro("tag", &TagUsage::tag)
      .def_ro("live_buffers", &TagUsage::live_buffers)
      .def_ro("live_bytes", &TagUsage::live_bytes, "As requested, before rounding.")
      .def_ro("peak_bytes", &TagUsage::peak_bytes, "High-water mark of live_bytes.")
      .def("__repr__", [](const TagUsage& self) {
        return fmt::format("TagUsage(tag='{}', live_buffers={}, live_bytes={}, peak_bytes={})", self.tag,
                           self.live_buffers, self.live_bytes, self.peak_bytes);
      });
  nb::class_<MemoryStats>(module, "MemoryStats", "The counters of the memory pool of one device.")
      .def_ro("total_bytes", &MemoryStats::total_bytes, "Memory of the device; 0 when its driver does not say.")
      .def_ro("limit_bytes", &MemoryStats::limit_bytes, "What the pool may hold.")
      .def_ro("reserved_bytes", &MemoryStats::reserved_bytes, "Held from the device: in use and cached.")
      .def_ro("in_use_bytes", &MemoryStats::in_use_bytes, "In live buffers, after rounding.")
      .def_ro("requested_bytes", &MemoryStats::requested_bytes, "In live buffers, before rounding.")
      .def_ro("cached_bytes", &MemoryStats::cached_bytes, "Held and not in use.")
      .def_ro("peak_reserved_bytes", &MemoryStats::peak_reserved_bytes)
      .def_ro("peak_in_use_bytes", &MemoryStats::peak_in_use_bytes)
      .def_ro("largest_free_bytes", &MemoryStats::largest_free_bytes, "Longest contiguous range that is cached.")
      .def_ro("fragmentation", &MemoryStats::fragmentation, "1 - largest_free_bytes / cached_bytes.")
      .def_ro("segments", &MemoryStats::segments, "Allocations held from the device.")
      .def_ro("live_buffers", &MemoryStats::live_buffers)
      .def_ro("allocations", &MemoryStats::allocations, "Buffers handed out so far.")
      .def_ro("hits", &MemoryStats::hits, "Of them: served without an allocation from the device.")
      .def_prop_ro("hit_rate", &MemoryStats::hit_rate, "hits / allocations.")
      .def_ro("device_allocations", &MemoryStats::device_allocations)
      .def_ro("device_frees", &MemoryStats::device_frees)
      .def_ro("cleanups", &MemoryStats::cleanups, "How often the whole cache went back to the device.")
      .def_ro("failures", &MemoryStats::failures, "Requests that ended in AllocationError.")
      .def_ro("tags", &MemoryStats::tags, "Live buffers by tag; see scope().")
      .def("__repr__", &describe_stats)
      .def("_repr_html_", &stats_html);
}

void bind_snapshot(nb::module_& module) {
  nb::class_<SnapshotBlock>(module, "MemoryBlock", "A range of a segment; a segment is one allocation of the device.")
      .def_ro("segment", &SnapshotBlock::segment, "Number of the segment.")
      .def_ro("offset", &SnapshotBlock::offset, "Bytes from the start of the segment.")
      .def_ro("bytes", &SnapshotBlock::bytes)
      .def_prop_ro(
          "state", [](const SnapshotBlock& self) { return std::string(name(self.state)); },
          "'live', 'cached' or 'free'.")
      .def_ro("requested_bytes", &SnapshotBlock::requested_bytes, "Bytes before rounding; 0 unless live.")
      .def_ro("tag", &SnapshotBlock::tag, "Memory tag of a live block; empty without one.")
      .def_prop_ro(
          "age_seconds", [](const SnapshotBlock& self) { return std::chrono::duration<double>(self.age).count(); },
          "How long a live block has been in use.")
      .def("__repr__", [](const SnapshotBlock& self) {
        return fmt::format("MemoryBlock(segment={}, offset={}, bytes={}, state='{}', tag='{}')", self.segment,
                           self.offset, self.bytes, name(self.state), self.tag);
      });
  nb::class_<MemorySnapshot>(module, "MemorySnapshot",
                             "Every block of the memory pool of one device at one moment.\n\n"
                             "A notebook shows it as a map: a bar for each segment.")
      .def_ro("device", &MemorySnapshot::device, "Label and name of the device.")
      .def_ro("cause", &MemorySnapshot::cause, "The out-of-memory report that led to the snapshot; else empty.")
      .def_ro("stats", &MemorySnapshot::stats)
      .def_ro("blocks", &MemorySnapshot::blocks, "All blocks by segment and offset.")
      .def("to_json", &written<write_json>, "Return the snapshot as JSON, which from_json() and `vectis memory` read.")
      .def("to_html", &written<write_html>, "Return the snapshot as an HTML page that needs no other file.")
      .def_static(
          "from_json",
          [](const std::string& text) {
            std::istringstream in(text);
            return read_memory_snapshot(in);
          },
          "text"_a, "Read what to_json() returned. Raises CorruptDataError for other text.")
      .def("__repr__",
           [](const MemorySnapshot& self) {
             return fmt::format("MemorySnapshot(device='{}', segments={}, blocks={}, in_use_bytes={})", self.device,
                                self.stats.segments, self.blocks.size(), self.stats.in_use_bytes);
           })
      .def("_repr_html_", [](const MemorySnapshot& self) { return memory_map_html(self); });
}

void bind_scope(nb::module_& module) {
  nb::class_<PyMemoryScope>(
      module, "MemoryScope",
      "Measures the device memory that a section of a program uses.\n\n"
      "    with vectis.memory.scope('forward') as scope:\n"
      "        array = vectis.kernel.to_device(values)\n"
      "    print(scope.peak_bytes)\n\n"
      "Counts the buffers of vectis.kernel that the section allocates: arrays on the device, and copies\n"
      "of NumPy arrays for launches; also in tasks that it starts, until it ends, but not in other\n"
      "threads. Indexes count theirs under tags of their own, such as 'search.segments', and\n"
      "memory of the host does not count. Scopes may nest; a buffer counts in the innermost one alone.")
      .def(
          "__init__",
          [](PyMemoryScope* self, std::string tag, const std::optional<DeviceArgument>& device) {
            new (self) PyMemoryScope(std::move(tag), find_device(device));
          },
          "tag"_a, "device"_a = nb::none(), "Make a scope of this tag; None: on the active device.")
      .def_prop_ro("tag", [](const PyMemoryScope& self) { return self.tag(); })
      .def_prop_ro("live_bytes", &PyMemoryScope::live_bytes,
                   "Requested bytes of the live buffers of the tag; after the scope, at its end.")
      .def_prop_ro("peak_bytes", &PyMemoryScope::peak_bytes, "High-water mark of live_bytes within the scope.")
      .def(
          "__enter__",
          [](nb::handle_t<PyMemoryScope> self) {
            nb::cast<PyMemoryScope&>(self).enter();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> MemoryScope"))
      .def(
          "__exit__", [](PyMemoryScope& self, const nb::args&) { self.exit(); },
          nb::sig("def __exit__(self, *exception: object) -> None"))
      .def("__repr__", [](const PyMemoryScope& self) {
        return fmt::format("MemoryScope(tag='{}', live_bytes={}, peak_bytes={})", self.tag(), self.live_bytes(),
                           self.peak_bytes());
      });
}

void bind_pool(nb::module_& module) {
  using Optional = std::optional<DeviceArgument>;
  module.def(
      "memory_stats",
      [](const Optional& device) {
        return with_pool(device, true, [](MemoryPool& pool, int id) { return pool.get_memory_stats(id).value(); });
      },
      "device"_a = nb::none(), "Return all counters of the pool of a device; None: of the active one.");
  module.def(
      "memory_usage",
      [](const Optional& device) {
        return with_pool(device, true, [](MemoryPool& pool, int id) { return pool.memory_usage(id); });
      },
      "device"_a = nb::none(), "Return the bytes that the pool holds; None when the device was never used.");
  module.def(
      "memory_total_usage",
      [] {
        Runtime& used = runtime();
        const Call call({.only_reads = true});
        return call.run([&](const Context&) { return memory_pool(used).total_memory_usage(); });
      },
      "Return the bytes that the pools of all devices hold together.");
  module.def(
      "memory_pressure",
      [](const Optional& device) {
        return with_pool(device, true, [](MemoryPool& pool, int id) { return pool.memory_pressure(id); });
      },
      "device"_a = nb::none(), "Return held bytes / limit, 0 to 1; None when the device was never used.");
  module.def(
      "memory_set_limit",
      [](std::uint64_t bytes, const Optional& device) {
        with_pool(device, false, [&](MemoryPool& pool, int id) { return pool.set_max_pool_size(id, bytes); });
      },
      "bytes"_a, "device"_a = nb::none(),
      "Limit the bytes, in use and cached, that the pool holds on a device; 70 % of its memory by default.");
  module.def(
      "memory_cleanup",
      [](const Optional& device) {
        if (device)
          return with_pool(device, false, [](MemoryPool& pool, int id) { return pool.emergency_cleanup(id); });
        Runtime& used = runtime();
        const Call call;
        return call.run([&](const Context&) { return memory_pool(used).emergency_cleanup_all(); });
      },
      "device"_a = nb::none(),
      "Give cached memory back to the device, None: to all devices, and return how many bytes.");
  module.def(
      "memory_snapshot",
      [](const Optional& device) {
        return with_pool(device, true, [](MemoryPool& pool, int id) { return pool.snapshot(id); });
      },
      "device"_a = nb::none(), "Return every block of the pool of a device; None when the device was never used.");
  module.def(
      "memory_leak_report",
      [] {
        Runtime& used = runtime();
        const Call call({.only_reads = true});
        return call.run([&](const Context&) { return memory_pool(used).leak_report(); });
      },
      "Return a line for each device with live buffers: their number, bytes and tags.");
}

}  // namespace

Context with_scope_tag(const Context& context) {
  const nb::object entry = innermost_entry();
  return entry.is_none() ? context : context.with_memory_tag(entry_of(entry).tag);
}

void bind_memory(nb::module_& module) {
  bind_statistics(module);
  bind_snapshot(module);
  bind_scope(module);
  bind_pool(module);
}

}  // namespace vectis::python
