#include "vectis/nn/layer.hpp"

namespace vectis::inline v0_1::nn {

Tensor Sequential::forward(const Tensor& x, const Mode& mode) {
  Tensor value = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    value = in_layer(std::to_string(i), [&] { return layers_[i].forward(value, mode); });
  }
  return value;
}

void Sequential::visit(Visitor& visitor) {
  for (std::size_t i = 0; i < layers_.size(); ++i) visitor.child(std::to_string(i), layers_[i]);
}

}  // namespace vectis::inline v0_1::nn
