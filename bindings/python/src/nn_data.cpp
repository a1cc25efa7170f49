// Data sets, their loader and readers of files.
#include "nn_data.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "devices.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "nn_module.hpp"
#include "options.hpp"
#include "runtime.hpp"
#include "text.hpp"
#include "vectis/nn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

nb::tuple as_tuple(const std::vector<Tensor>& fields) {
  nb::list all;
  for (const Tensor& field : fields) all.append(to_array(field));
  return nb::tuple(all);
}

std::vector<Tensor> fields_in(nb::handle examples) {
  std::vector<Tensor> fields;
  for (const nb::handle field : nb::borrow(examples)) {
    fields.push_back(as_tensor(field, std::nullopt, tensor_options(std::nullopt)));
  }
  return fields;
}

// A data set that Python code reads, on the threads of the loader.
class PythonDataset final : public nn::Dataset {
 public:
  // Needs the GIL.
  explicit PythonDataset(nb::handle object)
      : held_(held_for_threads(std::make_unique<nb::object>(nb::borrow(object)))),
        size_(static_cast<std::int64_t>(nb::len(object))) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> indices) const override {
    std::vector<Tensor> fields;
    const bool has_run = with_gil([&] {
      nb::list wanted;
      for (const std::int64_t index : indices) wanted.append(index);
      fields = fields_in(static_cast<const nb::object*>(held_.get())->attr("examples")(wanted));
    });
    if (!has_run) throw Error(ErrorCode::cancelled, "examples", "Python ends; nothing more is read");
    return fields;
  }

 private:
  std::shared_ptr<const void> held_;
  std::int64_t size_;
};

// The batches that are being read call Python, so the loader ends without the GIL.
struct PyLoader {
  std::unique_ptr<nn::Loader, DestroyWithoutGil> loader;
  bool is_in_use = false;  // by a call without the GIL
};

// Calls a function of a loader without the GIL. Throws InvalidInput while another thread does.
template <class Function>
auto use_loader(PyLoader& self, const Function& function) {
  if (self.is_in_use) {
    throw_invalid_input("DataLoader", "another thread is reading from this loader; make one for each thread");
  }
  struct Use {
    bool& is_in_use;
    explicit Use(bool& flag) : is_in_use(flag) { is_in_use = true; }
    ~Use() { is_in_use = false; }
  } const use(self.is_in_use);
  return without_gil([&] { return function(*self.loader); });
}

void bind_datasets(nb::module_& module) {
  nb::class_<PyDataset>(module, "NativeDataset", "Examples of the library.")
      .def("__len__", [](const PyDataset& self) { return self.dataset->size(); })
      .def(
          "examples",
          [](const PyDataset& self, const std::vector<std::int64_t>& indices) {
            const std::vector<Tensor> fields = without_gil([&] { return self.dataset->examples(indices); });
            return as_tuple(fields);
          },
          "indices"_a, nb::sig("def examples(self, indices: list[int]) -> tuple[Array, ...]"),
          "Return the examples of these numbers: each field with the examples along its first axis.");
  module.def(
      "tensor_dataset",
      [](const nb::list& fields) {
        const std::vector<Tensor> tensors = fields_in(fields);
        return PyDataset{without_gil([&] { return std::make_shared<nn::TensorDataset>(tensors); })};
      },
      "fields"_a, nb::sig("def tensor_dataset(fields: list[typing.Any]) -> NativeDataset"),
      "Make a data set of arrays whose rows are examples.");
  module.def(
      "dataset_range",
      [](nb::handle dataset, std::int64_t begin, std::int64_t end) {
        return PyDataset{std::make_shared<nn::DatasetRange>(as_dataset(dataset), begin, end)};
      },
      "dataset"_a, "begin"_a, "end"_a,
      nb::sig("def dataset_range(dataset: typing.Any, begin: int, end: int) -> NativeDataset"),
      "Make a data set of a range of another one.");
}

void bind_loader(nb::module_& module) {
  nb::class_<PyLoader>(module, "Loader", "Reads a data set in batches, epoch after epoch.")
      .def(
          "__init__",
          [](PyLoader* self, nb::handle dataset, std::int64_t batch_size, bool shuffle, std::uint64_t seed,
             bool drop_last, std::size_t prefetch, const std::optional<DeviceArgument>& device) {
            nn::LoaderOptions options{batch_size, shuffle, seed, drop_last, prefetch, std::nullopt, &runtime()};
            if (device) options.device = find_device(device).device;
            new (self)
                PyLoader{std::unique_ptr<nn::Loader, DestroyWithoutGil>(new nn::Loader(as_dataset(dataset), options))};
          },
          "dataset"_a, "batch_size"_a, "shuffle"_a, "seed"_a, "drop_last"_a, "prefetch"_a, "device"_a.none(),
          nb::sig("def __init__(self, dataset: typing.Any, batch_size: int, shuffle: bool, seed: int, drop_last: bool, "
                  "prefetch: int, device: vectis._vectis.Device | int | str | None) -> None"))
      .def_prop_ro("batches", [](const PyLoader& self) { return self.loader->batches(); })
      .def(
          "next",
          [](PyLoader& self) -> nb::object {
            const std::optional<nn::Batch> batch = use_loader(self, [](nn::Loader& loader) { return loader.next(); });
            return batch ? nb::object(as_tuple(*batch)) : nb::none();
          },
          nb::sig("def next(self) -> tuple[Array, ...] | None"))
      .def_prop_ro(
          "position",
          [](PyLoader& self) {
            const nn::LoaderPosition position = use_loader(self, [](nn::Loader& loader) { return loader.position(); });
            return nb::make_tuple(position.epoch, position.batch);
          },
          nb::sig("def position(self) -> tuple[int, int]"))
      .def(
          "seek",
          [](PyLoader& self, std::uint64_t epoch, std::int64_t batch) {
            use_loader(self, [&](nn::Loader& loader) { loader.seek({epoch, batch}); });
          },
          "epoch"_a, "batch"_a);
}

void bind_readers(nb::module_& module) {
  using Reader = Tensor (*)(const std::string&);
  for (const auto& [name, function, description] :
       {std::tuple<const char*, Reader, const char*>{"read_idx", &nn::read_idx,
                                                     "Return the array in an IDX file, the format of MNIST."},
        std::tuple<const char*, Reader, const char*>{"read_npy", &nn::read_npy, "Return the array in a .npy file."}}) {
    module.def(
        name,
        [chosen = function](nb::handle path) {
          const std::string file = file_path(path);
          return without_gil([&] { return chosen(file); });
        },
        "path"_a, nb::sig(fmt::format("def {}(path: str | os.PathLike[str]) -> Array", name).c_str()), description);
  }
  module.def(
      "write_npy",
      [](nb::handle path, const Tensor& x) {
        const std::string file = file_path(path);
        without_gil([&] { nn::write_npy(file, x); });
      },
      "path"_a, "x"_a, nb::sig("def write_npy(path: str | os.PathLike[str], x: Array) -> None"),
      "Write an array as .npy, which numpy.load() reads.");
  module.def(
      "read_csv",
      [](nb::handle path, const std::string& delimiter, const std::optional<bool>& header,
         const std::optional<float>& missing) {
        if (delimiter.size() != 1) throw_invalid_input("read_csv", "the delimiter is one ASCII character");
        const std::string file = file_path(path);
        const nn::CsvTable table = without_gil([&] { return nn::read_csv(file, {delimiter[0], header, missing}); });
        nb::list columns;
        for (const std::string& column : table.columns) columns.append(nb::cast(column));
        return nb::make_tuple(columns, to_array(table.values));
      },
      "path"_a, nb::kw_only(), "delimiter"_a = ",", "header"_a = nb::none(), "missing"_a = nb::none(),
      nb::sig(
          "def read_csv(path: str | os.PathLike[str], *, delimiter: str = ',', header: bool | None = None, missing: "
          "float | None = None) -> tuple[list[str], Array]"),
      "Return the names of the columns, if the file has them, and its numbers as float32.");
}

}  // namespace

std::shared_ptr<const nn::Dataset> as_dataset(nb::handle object) {
  if (nb::isinstance<PyDataset>(object)) return nb::inst_ptr<PyDataset>(object)->dataset;
  if (nb::hasattr(object, "_native") && nb::isinstance<PyDataset>(object.attr("_native"))) {
    return nb::inst_ptr<PyDataset>(nb::object(object.attr("_native")))->dataset;
  }
  if (nb::hasattr(object, "examples")) return std::make_shared<PythonDataset>(object);
  throw_invalid_input("dataset", fmt::format("{} is no data set; derive from vectis.nn.Dataset, or give arrays to "
                                             "TensorDataset",
                                             class_name(object)));
}

void bind_nn_data(nb::module_& module) {
  bind_datasets(module);
  bind_loader(module);
  bind_readers(module);
}

}  // namespace vectis::python
