#include "launch.hpp"

#include <fmt/format.h>

#include <string>

#include "vectis/base/error.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// Returns whether the memory of an array cannot be written; also for what is no array.
bool is_readonly(nb::handle object) {
  if (nb::hasattr(object, "flags")) return !nb::cast<bool>(object.attr("flags").attr("writeable"));
  const nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (view.is_valid()) return nb::cast<bool>(view.attr("readonly"));
  PyErr_Clear();
  return true;
}

}  // namespace

ArrayArgument::ArrayArgument(nb::handle object, ArrayUse use, std::string_view op, std::string_view what) {
  if (nb::isinstance<DeviceArray>(object)) {
    on_device_ = nb::inst_ptr<DeviceArray>(object);
    return;
  }
  written_ = use == ArrayUse::write || (use == ArrayUse::any && !is_readonly(object));
  host_.emplace(object, written_, op, what);
}

void ArrayArgument::upload(Stream& stream, const PyDevice& device, const Context& context) {
  if (!host_) return;
  made_.emplace(device, host_->type(), host_->shape(), context);
  on_device_ = &*made_;
  made_->upload(stream, host_->bytes());
}

void ArrayArgument::download(Stream& stream) {
  if (host_ && written_) made_->download(stream, host_->bytes());
}

bool is_array(nb::handle object) {
  if (nb::isinstance<DeviceArray>(object)) return true;
  return PyObject_CheckBuffer(object.ptr()) != 0 &&
         !nb::isinstance(object, nb::module_::import_("numpy").attr("generic"));
}

}  // namespace vectis::python
