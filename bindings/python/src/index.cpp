// vectis.Index.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "bindings.hpp"
#include "html.hpp"
#include "options.hpp"
#include "runtime.hpp"
#include "text.hpp"
#include "vectis/base/bytes.hpp"
#include "vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {

struct PyIndex {
  std::unique_ptr<Index, DestroyWithoutGil> index;
};

template <>
struct VectorsOf<PyIndex> {
  static Index& of(const PyIndex& self) { return *self.index; }
  static std::size_t dim(const PyIndex& self) { return self.index->dim(); }
};

namespace {

std::unique_ptr<Index, DestroyWithoutGil> owned(std::unique_ptr<Index> index) {
  return std::unique_ptr<Index, DestroyWithoutGil>(index.release());
}

void make(PyIndex* self, std::size_t dim, std::string_view kind, std::string_view metric, std::optional<double> recall,
          std::optional<std::string_view> precision, std::optional<std::string> device,
          std::optional<std::size_t> degree, std::optional<std::size_t> ef_construction,
          std::optional<std::uint64_t> seed) {
  IndexOptions options{.recall = recall, .device = std::move(device), .runtime = &runtime()};
  if (degree || ef_construction || seed) {
    GraphOptions& graph = options.graph.emplace();
    graph.degree = degree.value_or(graph.degree);
    graph.ef_construction = ef_construction.value_or(graph.ef_construction);
    graph.seed = seed.value_or(graph.seed);
  }
  const Metric parsed = parse_metric_name(metric, "Index");
  std::optional<Precision> parsed_precision;
  if (precision) parsed_precision = parse_precision(*precision, "Index");
  new (self) PyIndex{owned(without_gil([&] {
    std::unique_ptr<Index> made = make_index(kind, dim, parsed, options);
    if (parsed_precision) made->set_precision(*parsed_precision);
    return made;
  }))};
}

PyIndex load(const std::string& path, std::optional<double> recall, std::optional<std::string> device) {
  const IndexOptions options{.recall = recall, .device = std::move(device), .runtime = &runtime()};
  const Call call;
  return {owned(call.run([&](const Context& context) { return load_index(path, options, context); }))};
}

PyIndex map(const std::string& path, std::optional<double> recall, bool verify) {
  const MapOptions options{.verify = verify, .recall = recall, .runtime = &runtime()};
  const Call call;
  return {owned(call.run([&](const Context&) { return map_index(path, options); }))};
}

nb::bytes to_bytes(const PyIndex& self) {
  const Call call;
  MemoryWriter writer;
  call.run([&](const Context& context) { self.index->save(writer, context); });
  return nb::bytes(writer.bytes().data(), writer.bytes().size());
}

std::unique_ptr<Index> from_bytes(nb::bytes bytes) {
  const Call call;
  MemoryReader reader(std::span(static_cast<const std::byte*>(bytes.data()), bytes.size()));
  const IndexOptions options{.runtime = &runtime()};
  return call.run([&](const Context& context) { return load_index(reader, options, context); });
}

std::string describe_index(const PyIndex& self) {
  return without_gil([&] {
    const Index& index = *self.index;
    return fmt::format("Index(kind='{}', dim={}, metric='{}', vectors={}, device='{}')", index.kind(), index.dim(),
                       name(index.metric()), index.size(), index.devices().labels());
  });
}

std::string index_html(const PyIndex& self) {
  return without_gil([&] {
    const Index& index = *self.index;
    const IndexStatistics statistics = index.statistics();
    return html_table({}, {{"kind", std::string(index.kind())},
                           {"dimensions", fmt::format("{}", index.dim())},
                           {"metric", std::string(name(index.metric()))},
                           {"vectors", fmt::format("{}", statistics.vectors)},
                           {"bytes per vector", fmt::format("{:.0f}", statistics.bytes_per_vector)},
                           {"devices", index.devices().labels()},
                           {"reason", index.devices().reason}});
  });
}

void bind_files(nb::class_<PyIndex>& bound) {
  bound
      .def(
          "save",
          [](const PyIndex& self, nb::object path) {
            const std::string name = file_path(path);
            const Call call;
            call.run([&](const Context& context) { self.index->save(name, context); });
          },
          "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Write the index to a file. The file is the old or the new one at any moment.")
      .def_static(
          "load",
          [](nb::object path, std::optional<double> recall, std::optional<std::string> device) {
            return load(file_path(path), recall, std::move(device));
          },
          "path"_a, nb::kw_only(), "recall"_a = nb::none(), "device"_a = nb::none(),
          nb::sig("def load(path: str | os.PathLike[str], *, recall: float | None = None, device: str | None = None) "
                  "-> Index"),
          "Read an index from a file that save() wrote. Raises CorruptDataError for a corrupt file.")
      .def_static(
          "map",
          [](nb::object path, std::optional<double> recall, bool verify) {
            return map(file_path(path), recall, verify);
          },
          "path"_a, nb::kw_only(), "recall"_a = nb::none(), "verify"_a = true,
          nb::sig(
              "def map(path: str | os.PathLike[str], *, recall: float | None = None, verify: bool = True) -> Index"),
          "Use the file of a graph in place: searches read the pages they need, and the file never changes.\n\n"
          "verify: False does not read the whole file once; searching a corrupt file may then crash.")
      .def("__getstate__", &to_bytes)
      .def("__setstate__",
           [](PyIndex& self, nb::bytes state) { new (&self) PyIndex{owned(from_bytes(std::move(state)))}; });
}

void bind_changes(nb::class_<PyIndex>& bound) {
  bound
      .def(
          "set_precision",
          [](const PyIndex& self, std::string_view precision) {
            const Precision parsed = parse_precision(precision, "set_precision");
            const Call call;
            call.run([&](const Context& context) { self.index->set_precision(parsed, context); });
          },
          "precision"_a,
          "Scan values of this precision from now on: 'fp32', 'fp16', 'bf16' or 'int8'.\n\n"
          "Answers do not change, only memory and speed.")
      .def(
          "drop_full_precision",
          [](const PyIndex& self, std::optional<std::string_view> precision) {
            const Call call;
            if (!precision) {
              call.run([&](const Context& context) { self.index->drop_full_precision(context); });
              return;
            }
            const Precision parsed = parse_precision(*precision, "drop_full_precision");
            call.run([&](const Context& context) { self.index->drop_full_precision(parsed, context); });
          },
          "precision"_a = nb::none(),
          "Discard the float32 vectors and keep only codes, which loses information and saves memory.\n\n"
          "precision: of the codes, as in set_precision(); None keeps the present one.")
      .def(
          "compact",
          [](const PyIndex& self) {
            const Call call;
            call.run([&](const Context& context) { self.index->compact(context); });
          },
          "Reclaim the memory of removed vectors.");
}

}  // namespace

void bind_index(nb::module_& module) {
  nb::class_<PyIndex> bound(
      module, "Index",
      "Vectors with ids, and their nearest neighbors.\n\n"
      "```python\n"
      "index = vectis.Index(dim=384, metric='cosine')\n"
      "index.add(vectors)\n"
      "ids, distances = index.search(queries, k=10)\n"
      "```\n\n"
      "Any number of threads may search beside one that changes the index; all calls that last release the GIL.");
  bound
      .def(
          "__init__", &make, "dim"_a, nb::kw_only(), "kind"_a = "auto", "metric"_a = "l2", "recall"_a = nb::none(),
          "precision"_a = nb::none(), "device"_a = nb::none(), "degree"_a = nb::none(),
          "ef_construction"_a = nb::none(), "seed"_a = nb::none(),
          "Make an empty index for vectors of `dim` floats.\n\n"
          "kind: 'auto' (exact search, or a graph where it is faster), 'flat' (exact, on the CPU), 'graph'\n"
          "    (approximate), or 'gpu' (exact, on GPUs).\n"
          "metric: 'l2', 'l2_squared', 'cosine', 'inner_product', 'l1', 'chebyshev' or 'hamming'.\n"
          "recall: the share of the true neighbors that searches find unless they name another; 0.95 by default, 1 is\n"
          "    exact.\n"
          "precision: of the scanned values: 'fp32', 'fp16', 'bf16' or 'int8'.\n"
          "device: 'cpu', 'gpu', a backend ('opencl'), or a device ('opencl:1').\n"
          "degree, ef_construction, seed: parameters of the graph.")
      .def_prop_ro(
          "kind", [](const PyIndex& self) { return std::string(self.index->kind()); },
          "'auto', 'flat', 'graph' or 'gpu'.")
      .def_prop_ro(
          "dim", [](const PyIndex& self) { return self.index->dim(); }, "Dimensions of a vector.")
      .def_prop_ro(
          "metric", [](const PyIndex& self) { return std::string(name(self.index->metric())); }, "Name of the metric.")
      .def_prop_ro(
          "precision",
          [](const PyIndex& self) { return std::string(name(without_gil([&] { return self.index->precision(); }))); },
          "Precision of the values that searches scan.")
      .def_prop_ro(
          "device", [](const PyIndex& self) { return without_gil([&] { return self.index->devices().labels(); }); },
          "The devices that may search, joined by ', '.")
      .def(
          "statistics", [](const PyIndex& self) { return without_gil([&] { return self.index->statistics(); }); },
          "Return sizes and counters of the index at this moment.")
      .def(
          "explain",
          [](const PyIndex& self, std::size_t queries, std::size_t k, std::optional<double> recall,
             std::optional<std::size_t> ef) {
            return without_gil([&] { return self.index->explain(queries, k, {.recall = recall, .ef = ef}); });
          },
          "queries"_a = 1, "k"_a = 10, nb::kw_only(), "recall"_a = nb::none(), "ef"_a = nb::none(),
          "Describe what the index stores, and how it would search; does not search.")
      .def("__repr__", &describe_index)
      .def("_repr_html_", &index_html);
  bind_vectors(bound);
  bind_files(bound);
  bind_changes(bound);
}

}  // namespace vectis::python
