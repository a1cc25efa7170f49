// vectis.VectorStore and vectis.Collection.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bindings.hpp"
#include "html.hpp"
#include "options.hpp"
#include "runtime.hpp"
#include "text.hpp"
#include "vectis/store/vector_store.hpp"
#include "vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {

// vectis.Collection. The last handle of a dropped collection destroys its index.
struct PyCollection {
  explicit PyCollection(Collection handle) : collection(new Collection(std::move(handle))) {}

  std::unique_ptr<Collection, DestroyWithoutGil> collection;
};

// vectis.VectorStore.
struct PyStore {
  std::unique_ptr<VectorStore, DestroyWithoutGil> store;
};

template <>
struct VectorsOf<PyCollection> {
  static Collection& of(const PyCollection& self) { return *self.collection; }
  static std::size_t dim(const PyCollection& self) { return self.collection->config().dim; }
};

namespace {

PyCollection create(const PyStore& self, std::string_view name, std::size_t dim, std::string_view metric,
                    std::string index, std::optional<std::string_view> precision, std::optional<double> recall,
                    std::optional<std::string> device, std::optional<std::uint64_t> vectors_max, std::string tenant) {
  CollectionConfig config{.dim = dim,
                          .metric = parse_metric_name(metric, "create_collection"),
                          .index = std::move(index),
                          .recall = recall,
                          .device = std::move(device),
                          .vectors_max = vectors_max,
                          .tenant = std::move(tenant)};
  if (precision) config.precision = parse_precision(*precision, "create_collection");
  return PyCollection(without_gil([&] { return self.store->create_collection(name, std::move(config)); }));
}

std::unique_ptr<VectorStore, DestroyWithoutGil> make_store(VectorStore store) {
  return std::unique_ptr<VectorStore, DestroyWithoutGil>(new VectorStore(std::move(store)));
}

std::string metadata_html(const CollectionMetadata& metadata) {
  return html_table({}, {{"name", metadata.name},
                         {"vectors", fmt::format("{}", metadata.vector_count)},
                         {"dimensions", fmt::format("{}", metadata.config.dim)},
                         {"metric", std::string(name(metadata.config.metric))},
                         {"index", metadata.config.index},
                         {"host bytes", fmt::format("{}", metadata.bytes)},
                         {"device", metadata.device},
                         {"reason", metadata.reason}});
}

CollectionMetadata read_metadata(const PyCollection& self) {
  return without_gil([&] { return self.collection->metadata(); });
}

void bind_metadata(nb::module_& module) {
  nb::class_<CollectionMetadata>(module, "CollectionMetadata", "The state of a collection at one moment.")
      .def_ro("name", &CollectionMetadata::name)
      .def_ro("vector_count", &CollectionMetadata::vector_count)
      .def_ro("bytes", &CollectionMetadata::bytes, "Bytes of host memory.")
      .def_ro("gpu_backend", &CollectionMetadata::gpu_backend, "None when the CPU alone searches.")
      .def_ro("gpu_device", &CollectionMetadata::gpu_device)
      .def_ro("gpu_memory_used", &CollectionMetadata::gpu_memory_used)
      .def_ro("gpu_memory_total", &CollectionMetadata::gpu_memory_total)
      .def_ro("device", &CollectionMetadata::device, "The devices that may search, joined by ', '.")
      .def_ro("reason", &CollectionMetadata::reason, "Why these devices.")
      .def_prop_ro("dim", [](const CollectionMetadata& self) { return self.config.dim; })
      .def_prop_ro("metric", [](const CollectionMetadata& self) { return std::string(name(self.config.metric)); })
      .def_prop_ro("index", [](const CollectionMetadata& self) { return self.config.index; })
      .def_prop_ro("recall", [](const CollectionMetadata& self) { return self.config.recall; })
      .def_prop_ro("vectors_max", [](const CollectionMetadata& self) { return self.config.vectors_max; })
      .def_prop_ro("tenant", [](const CollectionMetadata& self) { return self.config.tenant; })
      .def("_repr_html_", &metadata_html);
}

void bind_collection(nb::module_& module) {
  nb::class_<PyCollection> bound(
      module, "Collection",
      "A collection of a VectorStore. Copies of the handle refer to the same collection.\n\n"
      "After drop_collection every call but `name` and `metadata` raises InvalidInputError.");
  bound.def_prop_ro("name", [](const PyCollection& self) { return self.collection->name(); })
      .def_prop_ro("dim", [](const PyCollection& self) { return self.collection->config().dim; })
      .def_prop_ro("metric",
                   [](const PyCollection& self) { return std::string(name(self.collection->config().metric)); })
      .def("metadata", &read_metadata, "Return size, devices and memory at this moment.")
      .def(
          "explain",
          [](const PyCollection& self, std::size_t queries, std::size_t k) {
            return without_gil([&] { return self.collection->explain(queries, k); });
          },
          "queries"_a = 1, "k"_a = 10, "Describe how such a search would run; does not search.")
      .def(
          "__eq__",
          [](const PyCollection& self, nb::handle other) {
            const PyCollection* same = nullptr;
            return nb::try_cast(other, same) && same != nullptr && *self.collection == *same->collection;
          },
          nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](const PyCollection& self) { return std::hash<std::string>()(self.collection->name()); })
      .def("__repr__",
           [](const PyCollection& self) {
             const Collection& collection = *self.collection;
             return fmt::format("Collection(name='{}', dim={}, metric='{}')", collection.name(),
                                collection.config().dim, name(collection.config().metric));
           })
      .def("_repr_html_", [](const PyCollection& self) { return metadata_html(read_metadata(self)); });
  bind_vectors(bound);
}

}  // namespace

void bind_store(nb::module_& module) {
  bind_metadata(module);
  bind_collection(module);
  nb::class_<PyStore>(module, "VectorStore",
                      "Named collections of vectors, saved and loaded together.\n\n"
                      "```python\n"
                      "store = vectis.VectorStore()\n"
                      "books = store.create_collection('books', dim=384, metric='cosine')\n"
                      "books.add(vectors, ids)\n"
                      "```")
      .def("__init__", [](PyStore* self) { new (self) PyStore{make_store(VectorStore(runtime()))}; })
      .def("create_collection", &create, "name"_a, "dim"_a, nb::kw_only(), "metric"_a = "l2", "index"_a = "auto",
           "precision"_a = nb::none(), "recall"_a = nb::none(), "device"_a = nb::none(), "vectors_max"_a = nb::none(),
           "tenant"_a = "",
           "Create an empty collection. The arguments are those of Index; vectors_max limits its size.")
      .def(
          "collection",
          [](const PyStore& self, std::string_view name) { return PyCollection(self.store->collection(name)); },
          "name"_a, "Return the collection of this name. Raises InvalidInputError when there is none.")
      .def(
          "__getitem__",
          [](const PyStore& self, const std::string& name) {
            auto found = self.store->find_collection(name);
            if (!found) throw nb::key_error(name.c_str());
            return PyCollection(std::move(*found));
          },
          "name"_a)
      .def(
          "list_collections", [](const PyStore& self) { return self.store->list_collections(); },
          "Return the names of all collections, sorted.")
      .def(
          "drop_collection",
          [](const PyStore& self, std::string_view name) {
            const Call call;  // which a progress callback must not make: a drop waits for changes
            return call.run([&](const Context&) { return self.store->drop_collection(name); });
          },
          "name"_a, "Remove a collection and return whether it existed.")
      .def("__len__", [](const PyStore& self) { return self.store->list_collections().size(); })
      .def(
          "__contains__",
          [](const PyStore& self, nb::handle name) {
            std::string text;
            return nb::try_cast(name, text) && self.store->find_collection(text).has_value();
          },
          "name"_a, nb::sig("def __contains__(self, name: object) -> bool"))
      .def(
          "__iter__", [](const PyStore& self) { return nb::iter(nb::cast(self.store->list_collections())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"), "Iterate over the names.")
      .def(
          "save",
          [](const PyStore& self, nb::object path) {
            const std::string name = file_path(path);
            const Call call;
            call.run([&](const Context& context) { self.store->save(name, context); });
          },
          "path"_a, nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Write all collections to a file. The file is the old or the new one at any moment.")
      .def_static(
          "load",
          [](nb::object path) {
            const std::string name = file_path(path);
            const Call call;
            Runtime& used = runtime();
            return PyStore{make_store(call.run([&](const Context&) { return VectorStore::load(name, used); }))};
          },
          "path"_a, nb::sig("def load(path: str | os.PathLike[str]) -> VectorStore"),
          "Read a store from a file that save() wrote.")
      .def("__repr__", [](const PyStore& self) {
        return fmt::format("VectorStore(collections={})", self.store->list_collections().size());
      });
}

}  // namespace vectis::python
