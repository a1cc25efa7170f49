// Dropout (Srivastava et al., 2014).
#pragma once

#include <string_view>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// Returns `x` in inference; in training, sets each element to 0 with `probability` and scales the others by 1 / (1 -
// probability). Throws InvalidInput unless 0 <= probability < 1.
VECTIS_API Tensor dropout(const Tensor& x, double probability, const Mode& mode);

// dropout() as a layer.
class VECTIS_API Dropout {
 public:
  static constexpr std::string_view kind = "Dropout";

  // Throws InvalidInput unless 0 <= p < 1.
  explicit Dropout(double p = 0.5);

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const { return dropout(x, probability, mode); }
  void visit(Visitor& /*visitor*/) {}

  double probability;
};

}  // namespace vectis::inline v0_1::nn
