// An element-wise function in the kernel IR: its text, its cost, its derivative, and its evaluation in double
// precision.

#include <array>
#include <bit>
#include <iostream>
#include <span>
#include <vectis/vectis.hpp>

int main() {
  namespace ir = vectis::ir;

  // A leaky square root: sqrt(x) where x is positive, a * x elsewhere.
  ir::Builder b("leaky_sqrt");
  const ir::Value x = b.input(vectis::DType::float32);
  const ir::Value a = b.argument(vectis::DType::float32);
  const ir::Value positive = b.binary(ir::Op::gt, x, b.constant(0.0F));
  b.output(b.select(positive, b.unary(ir::Op::sqrt, x), b.mul(a, x)), vectis::DType::float32);
  const ir::Function f = b.finish();

  const ir::Cost cost = ir::estimate_cost(f);
  std::cout << ir::to_text(f) << "\nper element: " << cost.operations << " operations, " << cost.bytes_read
            << " bytes read, " << cost.bytes_written << " written\n\n";

  const ir::Function gradient = ir::simplify(ir::derivative(f));
  std::cout << ir::to_text(gradient);

  // The gradient takes one more input: the adjoint of the output.
  const std::array<float, 3> points = {4.0F, 0.0F, -2.0F};
  const std::array<float, 3> adjoints = {1.0F, 1.0F, 1.0F};
  const float slope = 0.5F;
  const ir::Bindings bindings{{std::as_bytes(std::span(points)), std::as_bytes(std::span(adjoints))},
                              {},
                              {std::bit_cast<std::uint32_t>(slope)}};
  const auto slopes = ir::interpret(gradient, bindings, points.size());
  for (std::size_t i = 0; i < points.size(); ++i) std::cout << "slope at " << points[i] << ": " << slopes[0][i] << "\n";
  return slopes[0][0] == 0.25 && slopes[0][1] == 0.5 && slopes[0][2] == 0.5 ? 0 : 1;
}
