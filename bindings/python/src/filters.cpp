#include "filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

OwnedFilter filter_of_ids(nb::handle object) {
  const Ids ids(object, "filter");
  auto sorted = std::make_shared<std::vector<std::uint64_t>>(ids.span().begin(), ids.span().end());
  if (!std::ranges::is_sorted(*sorted)) std::ranges::sort(*sorted);
  const IdFilter filter = IdFilter::sorted_list(*sorted);
  return {filter, std::move(sorted)};
}

OwnedFilter filter_of_mask(const Py_buffer& mask) {
  if (mask.ndim != 1) throw_invalid_input("filter", "a mask must have one dimension");
  const auto count = static_cast<std::size_t>(mask.shape[0]);
  auto words = std::make_shared<std::vector<std::uint64_t>>((count + 63) / 64);
  for (std::size_t i = 0; i < count; ++i) {
    const bool allowed = static_cast<const char*>(mask.buf)[static_cast<Py_ssize_t>(i) * mask.strides[0]] != 0;
    (*words)[i / 64] |= std::uint64_t{allowed} << (i % 64);
  }
  const IdFilter filter = IdFilter::bitmap(*words);
  return {filter, std::move(words)};
}

// The bound of a range, limited to the ids that exist in Python.
std::int64_t limited(nb::handle bound) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(bound.ptr(), &overflow);
  if (overflow != 0) return overflow < 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(value, 0);
}

OwnedFilter filter_of_range(nb::handle range) {
  if (!range.attr("step").equal(nb::int_(1))) return filter_of_ids(range);
  const std::int64_t first = limited(range.attr("start"));
  const nb::object last = range.attr("stop") - nb::int_(1);
  if (nb::cast<bool>(nb::bool_(last < nb::int_(first)))) return {};
  return {IdFilter::range(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(limited(last))), nullptr};
}

// Threads of the library call the predicate, so that each call takes the GIL.
OwnedFilter filter_of_callable(nb::handle function) {
  return {IdFilter::predicate([callable = function.ptr()](std::uint64_t id) {
            bool allowed = false;
            with_gil([&] { allowed = nb::cast<bool>(nb::bool_(nb::borrow(callable)(id))); });
            return allowed;
          }),
          nullptr};
}

}  // namespace

std::optional<OwnedFilter> make_filter(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  if (const OwnedFilter* made = nullptr; nb::try_cast(object, made)) return *made;
  if (PyRange_Check(object.ptr())) return filter_of_range(object);
  Buffer buffer;
  if (PyObject_CheckBuffer(object.ptr()) && buffer.take(object) && buffer.format() == "?") {
    return filter_of_mask(buffer.view());
  }
  if (PyCallable_Check(object.ptr()) != 0) return filter_of_callable(object);
  return filter_of_ids(object);
}

void bind_filters(nb::module_& module) {
  nb::class_<OwnedFilter>(module, "IdFilter",
                          "The ids that a search may return, prepared once for many searches.\n\n"
                          "Searches also accept the argument of IdFilter as `filter` itself.")
      .def(
          "__init__",
          [](OwnedFilter* self, nb::object allowed) {
            std::optional<OwnedFilter> made = make_filter(allowed);
            if (!made || PyCallable_Check(allowed.ptr()) != 0) {
              throw_invalid_input("IdFilter", "pass ids, a range or a boolean mask");
            }
            new (self) OwnedFilter(std::move(*made));
          },
          nb::arg("allowed"), nb::sig("def __init__(self, allowed: range | numpy.typing.ArrayLike) -> None"),
          "Allow these ids: an array of ids in any order, a range, or a boolean mask over the ids from 0.")
      .def(
          "__contains__",
          [](const OwnedFilter& self, nb::handle id) {
            std::uint64_t number = 0;
            return nb::try_cast(id, number) && self.filter.allows(number);
          },
          nb::arg("id"), nb::sig("def __contains__(self, id: object) -> bool"));
}

}  // namespace vectis::python
