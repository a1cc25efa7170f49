// Observers of training as Python objects, and Python objects as observers.
#include "nn_observers.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>

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
  // `tree` must outlive the observer, or is null. Needs the GIL.
  PythonTrainingObserver(nb::handle object, ModuleTree* tree) : held_(held(object)), tree_(tree) {}

  void on_batch(const nn::BatchProgress& progress) override {
    call([&](const nb::object& object) { object.attr("on_batch")(nb::cast(progress)); });
  }
  void on_epoch(const nn::Epoch& epoch, std::int64_t epochs) override {
    call([&](const nb::object& object) { object.attr("on_epoch")(nb::cast(epoch), epochs); });
  }
  void on_end() override {
    call([](const nb::object& object) { object.attr("on_end")(); });
  }

 private:
  template <class Method>
  void call(const Method& method) {
    with_gil([&] {
      if (tree_ == nullptr) return method(held_in(held_));
      tree_->push();
      try {
        method(held_in(held_));
      } catch (...) {
        tree_->pull();  // what the method has assigned stays, as in the modules of the library
        throw;
      }
      tree_->pull();
    });
  }

  std::shared_ptr<const void> held_;
  ModuleTree* tree_;
};

// What an observer does when its file raises: a log loses no rows silently, and drawing never ends training.
enum class OnFailure : std::uint8_t { raise, stop_writing };

// Passes what an observer of the library writes on to an object with `write`.
class TextObserver final : public nn::TrainingObserver {
 public:
  using Maker = std::shared_ptr<nn::TrainingObserver>(std::ostream& out);

  // Raises TypeError for an object that text cannot be written to. Needs the GIL.
  TextObserver(const char* name, nb::handle file, OnFailure on_failure, const std::function<Maker>& make)
      : observer_(make(text_)), file_(held(checked(name, file))), on_failure_(on_failure) {}

  void on_batch(const nn::BatchProgress& progress) override {
    pass_on([&] { observer_->on_batch(progress); });
  }
  void on_epoch(const nn::Epoch& epoch, std::int64_t epochs) override {
    pass_on([&] { observer_->on_epoch(epoch, epochs); });
  }
  void on_end() override {
    pass_on([&] { observer_->on_end(); });
  }

 private:
  static nb::handle checked(const char* name, nb::handle file) {
    if (nb::hasattr(file, "write")) return file;
    throw nb::type_error(fmt::format("{} writes to a text file, such as sys.stderr or open(\"log.txt\", \"w\"), not to "
                                     "{}, a {}",
                                     name, text_of(nb::repr(file)), class_name(file))
                             .c_str());
  }

  template <class Call>
  void pass_on(const Call& call) {
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      call();
      text = text_.str();
      text_.str({});
    }
    if (!text.empty()) write(text);
  }

  void write(const std::string& text) {
    with_gil([&] {
      if (is_broken_) return;
      const nb::object& file = held_in(file_);
      try {
        file.attr("write")(text);
        if (nb::hasattr(file, "flush")) file.attr("flush")();
      } catch (nb::python_error& error) {
        if (on_failure_ == OnFailure::raise || !error.matches(PyExc_Exception)) throw;  // also KeyboardInterrupt
        is_broken_ = true;
      }
    });
  }

  std::mutex mutex_;  // of the next two: trainings on several threads may have the same log
  std::ostringstream text_;
  std::shared_ptr<nn::TrainingObserver> observer_;  // writes to text_
  std::shared_ptr<const void> file_;
  OnFailure on_failure_;
  bool is_broken_ = false;  // guarded by the GIL
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

std::shared_ptr<nn::TrainingObserver> as_observer(nb::handle object, ModuleTree* tree) {
  if (nb::isinstance<PyObserver>(object)) return nb::inst_ptr<PyObserver>(object)->observer;
  for (const char* const method : {"on_batch", "on_epoch", "on_end"}) {
    if (!nb::hasattr(object, method)) {
      throw_invalid_input("observers", fmt::format("{} has no method {}; derive from vectis.nn.TrainingObserver",
                                                   class_name(object), method));
    }
  }
  return std::make_shared<PythonTrainingObserver>(object, tree);
}

void bind_nn_observers(nb::module_& module) {
  bind_records(module);
  nb::class_<PyObserver>(module, "NativeObserver", "An observer of the library.");
  module.def(
      "csv_log",
      [](nb::handle file) {
        return PyObserver{std::make_shared<TextObserver>(
            "csv_log", file, OnFailure::raise, [](std::ostream& out) { return std::make_shared<nn::CsvLog>(out); })};
      },
      "file"_a, nb::sig("def csv_log(file: typing.Any) -> NativeObserver"),
      "Make a log that writes a row of comma-separated values for each epoch.");
  module.def(
      "json_log",
      [](nb::handle file) {
        return PyObserver{std::make_shared<TextObserver>(
            "json_log", file, OnFailure::raise, [](std::ostream& out) { return std::make_shared<nn::JsonLog>(out); })};
      },
      "file"_a, nb::sig("def json_log(file: typing.Any) -> NativeObserver"),
      "Make a log that writes a JSON object for each epoch.");
  module.def(
      "progress_bar",
      [](nb::handle file, bool is_terminal) {
        const auto make = [=](std::ostream& out) { return std::make_shared<nn::ProgressBar>(out, is_terminal); };
        return PyObserver{std::make_shared<TextObserver>("progress_bar", file, OnFailure::stop_writing, make)};
      },
      "file"_a, "is_terminal"_a, nb::sig("def progress_bar(file: typing.Any, is_terminal: bool) -> NativeObserver"),
      "Make a bar for the running epoch.");
  module.def(
      "tensor_board_log",
      [](nb::handle folder) {
        const std::string path = file_path(folder);
        return PyObserver{without_gil([&] { return std::make_shared<nn::TensorBoardLog>(path); })};
      },
      "folder"_a, nb::sig("def tensor_board_log(folder: str | os.PathLike[str]) -> NativeObserver"),
      "Make a log for TensorBoard in a folder that exists.");
}

}  // namespace vectis::python
