#include "results.hpp"

#include <fmt/format.h>
#include <nanobind/make_iterator.h>

#include <string>

#include "bindings.hpp"
#include "html.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

std::string explanation_html(const SearchExplanation& explanation) {
  return html_table({}, {{"device", explanation.device},
                         {"kernel", explanation.kernel},
                         {"reason", explanation.reason},
                         {"precision", std::string(name(explanation.precision))},
                         {"rows scanned", fmt::format("{:L}", explanation.rows_scanned)},
                         {"reranked", fmt::format("{:L}", explanation.reranked)},
                         {"time", fmt::format("{:.3g} ms", explanation.seconds * 1e3)}});
}

}  // namespace

void bind_results(nb::module_& module) {
  nb::class_<SearchExplanation>(module, "SearchExplanation", "How a search was done.")
      .def_ro("device", &SearchExplanation::device, "Where it ran: 'cpu', 'opencl:0'.")
      .def_ro("kernel", &SearchExplanation::kernel, "What computed: 'amx-int8', 'graph'.")
      .def_ro("reason", &SearchExplanation::reason, "Why this device and kernel.")
      .def_prop_ro(
          "precision", [](const SearchExplanation& self) { return std::string(name(self.precision)); },
          "Precision of the values that were scanned.")
      .def_ro("rows_scanned", &SearchExplanation::rows_scanned, "Rows scanned for all queries together.")
      .def_ro("reranked", &SearchExplanation::reranked, "Rows whose vectors were compared, for all queries together.")
      .def_ro("seconds", &SearchExplanation::seconds, "How long the search took.")
      .def("__str__", &SearchExplanation::text)
      .def("__repr__", &SearchExplanation::text)
      .def("_repr_html_", &explanation_html);

  nb::class_<Result>(
      module, "SearchResult",
      "Ids and distances of the nearest vectors of each query, nearest first.\n\n"
      "Unpacks as `ids, distances = index.search(...)`. Both arrays have the shape (queries, k), or (k,)\n"
      "for a query of one dimension. Where fewer than k vectors were found, the id is -1 and the\n"
      "distance infinite.")
      .def_prop_ro(
          "ids", [](const Result& self) { return self.ids; },
          nb::sig("def ids(self) -> numpy.typing.NDArray[numpy.int64]"), "Ids, -1 where there is none.")
      .def_prop_ro(
          "distances", [](const Result& self) { return self.distances; },
          nb::sig("def distances(self) -> numpy.typing.NDArray[numpy.float64]"),
          "Exact distances under the metric of the index.")
      .def(
          "explain", [](const Result& self) { return self.explanation; }, "Return how the search was done.")
      .def("__len__", [](const Result& self) { return nb::len(self.ids); })
      .def(
          "__iter__", [](const Result& self) { return nb::iter(nb::make_tuple(self.ids, self.distances)); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[numpy.typing.NDArray[typing.Any]]"))
      .def("__repr__",
           [](const Result& self) {
             return fmt::format("SearchResult(ids={}, distances={})", nb::repr(self.ids).c_str(),
                                nb::repr(self.distances).c_str());
           })
      .def("_repr_html_", [](const Result& self) {
        return fmt::format("<pre>ids {}\ndistances {}</pre>{}", escape_html(nb::str(self.ids).c_str()),
                           escape_html(nb::str(self.distances).c_str()), explanation_html(self.explanation));
      });

  nb::class_<IndexStatistics>(module, "IndexStatistics", "Sizes and counters of an index at one moment.")
      .def_ro("vectors", &IndexStatistics::vectors, "Vectors that can be found.")
      .def_ro("removed", &IndexStatistics::removed, "Removed rows whose memory is not reclaimed yet.")
      .def_ro("segments", &IndexStatistics::segments)
      .def_ro("bytes", &IndexStatistics::bytes, "Bytes of host memory.")
      .def_ro("mapped_bytes", &IndexStatistics::mapped_bytes, "Bytes of a mapped file.")
      .def_ro("device_bytes", &IndexStatistics::device_bytes, "Bytes of device memory.")
      .def_ro("bytes_per_vector", &IndexStatistics::bytes_per_vector)
      .def_ro("scanned_bytes_per_vector", &IndexStatistics::scanned_bytes_per_vector)
      .def_ro("searches", &IndexStatistics::searches)
      .def_ro("queries", &IndexStatistics::queries)
      .def_ro("reranked", &IndexStatistics::reranked);
}

}  // namespace vectis::python
