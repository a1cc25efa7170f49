#include "launch.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "errors.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// Returns whether the memory of an array cannot be written; also for what is no array.
bool is_readonly(nb::handle object) {
  const nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (view.is_valid()) return PyMemoryView_GET_BUFFER(view.ptr())->readonly != 0;
  PyErr_Clear();  // such as an array of a type that the buffer protocol does not know
  return !nb::getattr(nb::getattr(object, "flags", nb::none()), "writeable", nb::none()).is(nb::handle(Py_True));
}

}  // namespace

ArrayArgument::ArrayArgument(nb::handle object, ArrayUse use, std::string_view op, std::string_view what) {
  if (nb::isinstance<DeviceArray>(object)) {
    if (!nb::inst_ready(object)) {
      throw_invalid_input(op,
                          fmt::format("{} is a DeviceArray without memory; make it by to_device() or empty()", what));
    }
    on_device_ = nb::inst_ptr<DeviceArray>(object);
    return;
  }
  written_ = use == ArrayUse::write || (use == ArrayUse::any && !is_readonly(object));
  host_.emplace(object, written_, op, what);
}

void ArrayArgument::upload(Stream& stream, const PyDevice& device, const Context& context) {
  if (!host_) return;
  if (shared_ != nullptr) {
    on_device_ = shared_->on_device_;
    return;
  }
  made_.emplace(device, host_->type(), host_->shape(), context);
  on_device_ = &*made_;
  made_->upload(stream, host_->bytes());
}

void ArrayArgument::download(Stream& stream) {
  if (made_ && written_) made_->download(stream, host_->bytes());
}

void resolve_overlaps(std::span<ArrayArgument> arrays, Repeated repeated, std::string_view op,
                      const std::function<std::string(std::size_t)>& name) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::span<std::byte> bytes = arrays[i].written_bytes();
    for (std::size_t j = 0; j < i; ++j) {
      const std::span<std::byte> other = arrays[j].written_bytes();
      if (bytes.empty() || other.empty() || std::to_address(bytes.end()) <= other.data() ||
          std::to_address(other.end()) <= bytes.data()) {
        continue;
      }
      const bool same = bytes.data() == other.data() && bytes.size() == other.size();
      if (!same || repeated == Repeated::reject) {
        throw_invalid_input(
            op, fmt::format("{} and {} overlap in memory, and both are written; pass a copy of one", name(j), name(i)));
      }
      arrays[i].share(arrays[j]);
      break;  // the first of several equal ones has the memory
    }
  }
}

bool is_launch_array(nb::handle object) {
  if (nb::isinstance<DeviceArray>(object)) return true;
  return PyObject_CheckBuffer(object.ptr()) != 0 &&
         !nb::isinstance(object, nb::module_::import_("numpy").attr("generic"));
}

}  // namespace vectis::python
