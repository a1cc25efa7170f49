// The methods that Index and Collection share: adding, removing, reading and searching vectors.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "calls.hpp"
#include "errors.hpp"
#include "filters.hpp"
#include "results.hpp"
#include "text.hpp"
#include "vectis/search/index.hpp"

namespace vectis::python {

// How a Python class reaches what holds its vectors: specialized beside each class with
//   static auto& of(T&);  static std::size_t dim(const T&);
template <class T>
struct VectorsOf;

template <class T>
nanobind::object add_vectors(T& self, nanobind::handle vectors, nanobind::handle ids, nanobind::handle progress,
                             std::optional<double> timeout, const CancelSource* cancel, bool copy) {
  auto& target = VectorsOf<T>::of(self);
  const FloatRows rows(vectors, VectorsOf<T>::dim(self), "add", copy);
  const Call call({timeout, cancel, progress, rows.view().rows * rows.view().dim});
  if (!ids.is_none()) {
    const Ids chosen(ids, "add");
    call.run([&](const Context& context) { target.add(chosen.span(), rows.view(), context); });
    return make_id_array(chosen.span());
  }
  const std::uint64_t first = call.run([&](const Context& context) { return target.add(rows.view(), context); });
  const NewArray made = make_array(Element::int64, rows.view().rows);
  auto* const data = static_cast<std::uint64_t*>(made.data);
  std::iota(data, data + rows.view().rows, first);
  constexpr std::uint64_t id_end = std::uint64_t{1} << 63U;
  if (first + rows.view().rows > id_end) {
    without_gil([&] { target.remove(std::span<const std::uint64_t>(data, rows.view().rows)); });
    throw_invalid_input("add", "the ids would pass 2^63 - 1, the largest id in Python; choose the ids yourself");
  }
  return made.object;
}

template <class T>
void upsert_vectors(T& self, nanobind::handle vectors, nanobind::handle ids, nanobind::handle progress,
                    std::optional<double> timeout, const CancelSource* cancel, bool copy) {
  auto& target = VectorsOf<T>::of(self);
  const FloatRows rows(vectors, VectorsOf<T>::dim(self), "upsert", copy);
  const Ids chosen(ids, "upsert");
  const Call call({timeout, cancel, progress, rows.view().rows * rows.view().dim});
  call.run([&](const Context& context) { target.upsert(chosen.span(), rows.view(), context); });
}

template <class T>
std::size_t remove_vectors(T& self, nanobind::handle ids) {
  auto& target = VectorsOf<T>::of(self);
  const Ids chosen(ids, "remove");
  const Call call;
  return call.run([&](const Context& context) { return target.remove(chosen.span(), context); });
}

// Returns all ids as an array.
template <class T>
nanobind::object all_ids(T& self) {
  return make_id_array(without_gil([&] { return VectorsOf<T>::of(self).ids(); }));
}

// Returns the vector of one id, or None; for several ids an array with a row for each.
template <class T>
nanobind::object get_vectors(T& self, nanobind::handle ids) {
  const auto& source = VectorsOf<T>::of(self);
  const Ids chosen(ids, "get");
  if (chosen.one()) {
    const auto found = source.get(chosen.span()[0]);
    return found ? make_float_array(*found) : nanobind::none();
  }
  const std::size_t dim = VectorsOf<T>::dim(self);
  const NewArray made = make_array(Element::float32, chosen.span().size(), dim);
  without_gil([&] {
    auto* target = static_cast<float*>(made.data);
    for (const std::uint64_t id : chosen.span()) {
      const auto found = source.get(id);
      if (!found) throw_invalid_input("get", fmt::format("there is no id {}; `id in index` tests for one", id));
      target = std::copy(found->begin(), found->end(), target);
    }
  });
  return made.object;
}

template <class T>
Result search_vectors(T& self, nanobind::handle queries, std::size_t k, nanobind::handle filter,
                      std::optional<double> radius, std::optional<double> recall, std::optional<std::size_t> ef,
                      std::optional<double> timeout, const CancelSource* cancel, bool copy) {
  const auto& source = VectorsOf<T>::of(self);
  const FloatRows rows(queries, VectorsOf<T>::dim(self), "search", copy);
  const std::optional<OwnedFilter> owned_filter = make_filter(filter);
  constexpr double brief_elements = 2e7;  // that an exact search compares in a few milliseconds
  const double compared = static_cast<double>(source.size()) * static_cast<double>(rows.view().rows * rows.view().dim);
  const Call call({.timeout = timeout, .cancel = cancel, .only_reads = true, .brief = compared < brief_elements});
  SearchOptions options{.radius = radius, .recall = recall, .ef = ef, .context = call.context()};
  if (owned_filter) options.filter = owned_filter->filter;
  const std::size_t count = rows.view().rows;
  const auto shaped = [&](Element element) {
    return rows.one_row() ? make_array(element, k) : make_array(element, count, k);
  };
  const NewArray ids = shaped(Element::int64);
  const NewArray distances = shaped(Element::float64);
  const std::span id_span(static_cast<std::uint64_t*>(ids.data), count * k);
  const std::span distance_span(static_cast<double*>(distances.data), count * k);
  SearchExplanation explanation =
      call.run([&](const Context&) { return source.search_into(rows.view(), k, id_span, distance_span, options); });
  return {ids.object, distances.object, std::move(explanation)};
}

// Calls the method of the same name in a thread of asyncio's executor; cancelling the task cancels the call.
template <const char* method>
nanobind::object call_async(nanobind::object self, nanobind::args positional, nanobind::kwargs named) {
  return nanobind::module_::import_("vectis._async").attr("call")(self.attr(method), *positional, **named);
}

inline constexpr char search_method[] = "search";
inline constexpr char add_method[] = "add";

template <class T>
void bind_vectors(nanobind::class_<T>& bound) {
  namespace nb = nanobind;
  using namespace nb::literals;
  bound
      .def("add", &add_vectors<T>, "vectors"_a.none(), "ids"_a = nb::none(), nb::kw_only(), "progress"_a = nb::none(),
           "timeout"_a = nb::none(), "cancel"_a = nb::none(), "copy"_a = true,
           nb::sig("def add(self, vectors: numpy.typing.ArrayLike, ids: numpy.typing.ArrayLike | None = None, *, "
                   "progress: typing.Any = None, timeout: float | None = None, cancel: CancelSource | None = None, "
                   "copy: bool = True) -> numpy.typing.NDArray[numpy.int64]"),
           "Add vectors and return their ids.\n\n"
           "vectors: an array of shape (rows, dim), or (dim,) for one vector.\n"
           "ids: an id for each vector, 0 to 2**63 - 1, which must be new; without them the ids continue after the\n"
           "    largest id ever used.\n"
           "progress: None shows a progress bar for long calls on a terminal or in a notebook; False never; a\n"
           "    callable gets (operation, done, total); an object like tqdm's is updated.\n"
           "timeout: seconds after which DeadlineExceededError is raised.\n"
           "cancel: a CancelSource that can cancel the call.\n"
           "copy: False raises InvalidInputError instead of converting to contiguous float32.\n\n"
           "A call that raises adds nothing.")
      .def("upsert", &upsert_vectors<T>, "vectors"_a.none(), "ids"_a.none(), nb::kw_only(), "progress"_a = nb::none(),
           "timeout"_a = nb::none(), "cancel"_a = nb::none(), "copy"_a = true,
           nb::sig("def upsert(self, vectors: numpy.typing.ArrayLike, ids: numpy.typing.ArrayLike, *, "
                   "progress: typing.Any = None, timeout: float | None = None, cancel: CancelSource | None = None, "
                   "copy: bool = True) -> None"),
           "Store vectors under these ids: add new ids, replace the vectors of existing ones.\n\n"
           "A call that raises changes nothing. The arguments are those of add().")
      .def("remove", &remove_vectors<T>, "ids"_a.none(),
           nb::sig("def remove(self, ids: numpy.typing.ArrayLike) -> int"),
           "Remove one id or several, ignore ids that do not exist, and return how many existed.")
      .def("get", &get_vectors<T>, "ids"_a.none(),
           nb::sig("def get(self, ids: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32] | None"),
           "Return the vector of an id, or None; for several ids an array with a row for each.\n\n"
           "Raises InvalidInputError when one of several ids does not exist.")
      .def("ids", &all_ids<T>, nb::sig("def ids(self) -> numpy.typing.NDArray[numpy.int64]"),
           "Return all ids, in no particular order.")
      .def("search", &search_vectors<T>, "queries"_a.none(), "k"_a = 10, nb::kw_only(), "filter"_a = nb::none(),
           "radius"_a = nb::none(), "recall"_a = nb::none(), "ef"_a = nb::none(), "timeout"_a = nb::none(),
           "cancel"_a = nb::none(), "copy"_a = true,
           nb::sig("def search(self, queries: numpy.typing.ArrayLike, k: int = 10, *, filter: typing.Any = None, "
                   "radius: float | None = None, recall: float | None = None, ef: int | None = None, "
                   "timeout: float | None = None, cancel: CancelSource | None = None, copy: bool = True) "
                   "-> SearchResult"),
           "Find the k nearest vectors of each query.\n\n"
           "queries: an array of shape (queries, dim), or (dim,) for one query, whose result then has the shape (k,).\n"
           "filter: the only ids that may be found: ids, a range, a boolean mask over the ids from 0, an IdFilter, or\n"
           "    a callable id -> bool, which is slow.\n"
           "radius: the largest distance of a hit.\n"
           "recall: the share of the true k nearest to find, 0 < recall <= 1, for queries like the vectors; 1 is "
           "exact.\n"
           "ef: the beam width of a graph search, instead of a recall.\n"
           "timeout: seconds after which DeadlineExceededError is raised.\n"
           "cancel: a CancelSource that can cancel the call.\n"
           "copy: False raises InvalidInputError instead of converting to contiguous float32.")
      .def("asearch", &call_async<search_method>,
           nb::sig("def asearch(self, queries: numpy.typing.ArrayLike, k: int = 10, *, filter: typing.Any = None, "
                   "radius: float | None = None, recall: float | None = None, ef: int | None = None, "
                   "timeout: float | None = None, copy: bool = True) -> collections.abc.Awaitable[SearchResult]"),
           "Search as search() does, for asyncio: runs in a thread; cancelling the task cancels the search.")
      .def("aadd", &call_async<add_method>,
           nb::sig("def aadd(self, vectors: numpy.typing.ArrayLike, ids: numpy.typing.ArrayLike | None = None, *, "
                   "progress: typing.Any = None, timeout: float | None = None, copy: bool = True) "
                   "-> collections.abc.Awaitable[numpy.typing.NDArray[numpy.int64]]"),
           "Add as add() does, for asyncio: runs in a thread; cancelling the task cancels the call.")
      .def("__len__", [](T& self) { return VectorsOf<T>::of(self).size(); })
      .def(
          "__contains__",
          [](T& self, nb::handle id) {
            if (!PyLong_Check(id.ptr()) && !PyIndex_Check(id.ptr())) return false;
            const nb::int_ number(id);
            int overflow = 0;
            const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
            return overflow == 0 && value >= 0 &&
                   VectorsOf<T>::of(self).get(static_cast<std::uint64_t>(value)).has_value();
          },
          "id"_a, nb::sig("def __contains__(self, id: object) -> bool"))
      .def(
          "__iter__", [](T& self) { return nb::iter(all_ids(self).attr("tolist")()); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[int]"), "Iterate over the ids that exist now.");
}

}  // namespace vectis::python
