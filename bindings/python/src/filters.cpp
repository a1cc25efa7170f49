#include "filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vectis/base/error.hpp"

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
  if (mask.ndim != 1) throw Error(ErrorCode::invalid_input, "filter", "a mask must have one dimension");
  const auto count = static_cast<std::size_t>(mask.shape[0]);
  auto words = std::make_shared<std::vector<std::uint64_t>>((count + 63) / 64);
  for (std::size_t i = 0; i < count; ++i) {
    const bool allowed = static_cast<const char*>(mask.buf)[static_cast<Py_ssize_t>(i) * mask.strides[0]] != 0;
    (*words)[i / 64] |= std::uint64_t{allowed} << (i % 64);
  }
  const IdFilter filter = IdFilter::bitmap(*words);
  return {filter, std::move(words)};
}

OwnedFilter filter_of_range(nb::handle range) {
  if (nb::cast<std::int64_t>(range.attr("step")) != 1) return filter_of_ids(range);
  const auto first = nb::cast<std::int64_t>(range.attr("start"));
  const auto end = nb::cast<std::int64_t>(range.attr("stop"));
  if (end <= first || end <= 0) return {};
  return {IdFilter::range(static_cast<std::uint64_t>(std::max<std::int64_t>(first, 0)),
                          static_cast<std::uint64_t>(end - 1)),
          nullptr};
}

// Threads of the library call the predicate, so that each call takes the GIL.
OwnedFilter filter_of_callable(nb::handle function) {
  return {IdFilter::predicate([callable = function.ptr()](std::uint64_t id) {
            const nb::gil_scoped_acquire gil;
            return nb::cast<bool>(nb::bool_(nb::handle(callable)(id)));
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
              throw Error(ErrorCode::invalid_input, "IdFilter", "pass ids, a range or a boolean mask");
            }
            new (self) OwnedFilter(std::move(*made));
          },
          nb::arg("allowed"), nb::sig("def __init__(self, allowed: range | numpy.typing.ArrayLike) -> None"),
          "Allow these ids: an array of ids in any order, a range, or a boolean mask over the ids from 0.")
      .def(
          "__contains__", [](const OwnedFilter& self, std::uint64_t id) { return self.filter.allows(id); },
          nb::arg("id"));
}

}  // namespace vectis::python
