// Observers of training as Python objects, and Python objects as observers.
#include "nn_observers.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include <utility>

#include "array_object.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "options.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

const nb::object& held_in(const std::shared_ptr<const void>& held) noexcept {
  return *static_cast<const nb::object*>(held.get());
}

std::shared_ptr<const void> held(nb::handle object) {
  return held_for_threads(std::make_unique<nb::object>(nb::borrow(object)));
}

class PythonTrainingObserver final : public nn::TrainingObserver {
 public:
  // Needs the GIL.
  PythonTrainingObserver(nb::handle object, std::function<void()> before)
      : held_(held(object)), before_(std::move(before)) {}

  void on_batch(const nn::BatchProgress& progress) override {
    with_gil([&] { held_in(held_).attr("on_batch")(nb::cast(progress)); });
  }
  void on_epoch(const nn::Epoch& epoch, std::int64_t epochs) override {
    with_gil([&] {
      before_();
      held_in(held_).attr("on_epoch")(nb::cast(epoch), epochs);
    });
  }
  void on_end() override {
    with_gil([&] { held_in(held_).attr("on_end")(); });
  }

 private:
  std::shared_ptr<const void> held_;
  std::function<void()> before_;
};

nb::dict as_dict(const nn::Metrics& metrics) {
  nb::dict all;
  for (const auto& [name, value] : metrics) all[nb::cast(name)] = value;
  return all;
}

void bind_records(nb::module_& module) {
  nb::class_<nn::BatchProgress>(module, "BatchProgress", "How far an epoch has come.")
      .def_ro("epoch", &nn::BatchProgress::epoch, "The number of the epoch, from 0.")
      .def_ro("epochs", &nn::BatchProgress::epochs, "How many epochs there are at most.")
      .def_ro("batch", &nn::BatchProgress::batch, "The number of batches done.")
      .def_ro("batches", &nn::BatchProgress::batches, "The number of batches of an epoch.")
      .def_ro("seconds", &nn::BatchProgress::seconds, "Since the epoch began.");
  nb::class_<nn::Epoch>(module, "Epoch", "The record of one epoch.")
      .def_ro("number", &nn::Epoch::number, "From 0.")
      .def_ro("loss", &nn::Epoch::loss, "Mean over the training examples, while the parameters changed.")
      .def_prop_ro(
          "metrics", [](const nn::Epoch& self) { return as_dict(self.metrics); },
          nb::sig("def metrics(self) -> dict[str, float]"), "Means over the training examples, by name.")
      .def_ro("val_loss", &nn::Epoch::val_loss, "Of the validation examples, after the epoch.")
      .def_prop_ro(
          "val_metrics", [](const nn::Epoch& self) { return as_dict(self.val_metrics); },
          nb::sig("def val_metrics(self) -> dict[str, float]"), "Of the validation examples, by name.")
      .def_ro("learning_rate", &nn::Epoch::learning_rate, "Of the last update.")
      .def_ro("seconds", &nn::Epoch::seconds, "How long the epoch took.")
      .def("__repr__", [](const nn::Epoch& self) {
        return fmt::format("<epoch {}: loss {:.6g}{}>", self.number, self.loss,
                           self.val_loss ? fmt::format(", val_loss {:.6g}", *self.val_loss) : "");
      });
}

}  // namespace

PythonStream::PythonStream(nb::handle file) : std::ostream(nullptr), buffer_(file) { rdbuf(&buffer_); }

PythonStream::Buffer::Buffer(nb::handle file) : file_(held(file)) {}

PythonStream::Buffer::int_type PythonStream::Buffer::overflow(int_type character) {
  if (!traits_type::eq_int_type(character, traits_type::eof())) text_ += traits_type::to_char_type(character);
  return traits_type::not_eof(character);
}

std::streamsize PythonStream::Buffer::xsputn(const char* text, std::streamsize size) {
  text_.append(text, static_cast<std::size_t>(size));
  return size;
}

int PythonStream::Buffer::sync() {
  const std::string text = std::exchange(text_, {});
  if (is_broken_ || text.empty()) return 0;
  with_gil([&] {
    try {
      held_in(file_).attr("write")(text);
      held_in(file_).attr("flush")();
    } catch (nb::python_error&) {  // the terminal is gone, or the file is closed
      is_broken_ = true;
    }
  });
  return 0;
}

std::shared_ptr<nn::TrainingObserver> as_observer(nb::handle object, std::function<void()> before) {
  if (nb::isinstance<PyObserver>(object)) return nb::inst_ptr<PyObserver>(object)->observer;
  for (const char* const method : {"on_batch", "on_epoch", "on_end"}) {
    if (!nb::hasattr(object, method)) {
      throw_invalid_input("observers", fmt::format("{} has no method {}; derive from vectis.nn.TrainingObserver",
                                                   class_name(object), method));
    }
  }
  return std::make_shared<PythonTrainingObserver>(object, std::move(before));
}

void bind_nn_observers(nb::module_& module) {
  bind_records(module);
  nb::class_<PyObserver>(module, "NativeObserver", "An observer of the library.");
  module.def(
      "csv_log",
      [](nb::handle file) {
        auto stream = std::make_shared<PythonStream>(file);
        return PyObserver{stream, std::make_shared<nn::CsvLog>(*stream)};
      },
      "file"_a, nb::sig("def csv_log(file: typing.Any) -> NativeObserver"),
      "Make a log that writes a row of comma-separated values for each epoch.");
  module.def(
      "json_log",
      [](nb::handle file) {
        auto stream = std::make_shared<PythonStream>(file);
        return PyObserver{stream, std::make_shared<nn::JsonLog>(*stream)};
      },
      "file"_a, nb::sig("def json_log(file: typing.Any) -> NativeObserver"),
      "Make a log that writes a JSON object for each epoch.");
  module.def(
      "progress_bar",
      [](nb::handle file, bool is_terminal) {
        auto stream = std::make_shared<PythonStream>(file);
        return PyObserver{stream, std::make_shared<nn::ProgressBar>(*stream, is_terminal)};
      },
      "file"_a, "is_terminal"_a, nb::sig("def progress_bar(file: typing.Any, is_terminal: bool) -> NativeObserver"),
      "Make a bar for the running epoch.");
  module.def(
      "tensor_board_log",
      [](nb::handle folder) {
        const std::string path = file_path(folder);
        return PyObserver{nullptr, without_gil([&] { return std::make_shared<nn::TensorBoardLog>(path); })};
      },
      "folder"_a, nb::sig("def tensor_board_log(folder: str | os.PathLike[str]) -> NativeObserver"),
      "Make a log for TensorBoard in a folder that exists.");
}

}  // namespace vectis::python
