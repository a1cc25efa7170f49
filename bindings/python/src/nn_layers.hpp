// What the bindings of layers share.
#pragma once

#include <nanobind/nanobind.h>

#include "nn_module.hpp"

namespace vectis::python {

// Binds a layer that computes one array from one. Its constructor follows.
template <class M>
nanobind::class_<Native<M>, NativeModule> bind_layer(nanobind::module_& module, const char* name, const char* doc) {
  nanobind::class_<Native<M>, NativeModule> bound(module, name, doc);
  bound.def(
      "forward",
      [](Native<M>& self, const Tensor& x, array::Generator* random) {
        return self.computing(M::kind, random).forward(x, mode_of(random));
      },
      nanobind::arg("x"), nanobind::arg("random").none() = nanobind::none(),
      "Apply the layer: for training with a generator, for inference without.");
  return bound;
}

}  // namespace vectis::python
