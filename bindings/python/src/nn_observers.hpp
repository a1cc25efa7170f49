// Observers of training, of the library and of Python, and streams to Python's files.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>

#include "vectis/nn/observer.hpp"

namespace vectis::python {

// Writes text to an object with `write` and `flush`, which any thread may release. What those raise ends the writing,
// not the training.
class PythonStream final : public std::ostream {
 public:
  // Needs the GIL.
  explicit PythonStream(nanobind::handle file);

 private:
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(nanobind::handle file);

   protected:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

   private:
    std::shared_ptr<const void> file_;
    std::string text_;
    bool is_broken_ = false;
  };

  Buffer buffer_;
};

// An observer of the library that Python code holds, with the stream it writes to.
struct PyObserver {
  std::shared_ptr<PythonStream> stream;
  std::shared_ptr<nn::TrainingObserver> observer;
};

// Returns the observer that an object is, or that calls its methods on_batch, on_epoch and on_end, after `before`.
// Needs the GIL.
std::shared_ptr<nn::TrainingObserver> as_observer(nanobind::handle object, std::function<void()> before);

void bind_nn_observers(nanobind::module_& module);

}  // namespace vectis::python
