// Steps of random graphs of operations.
#pragma once

#include <vector>

#include "vectis/array.hpp"

namespace vectis::test {

using array::Tensor;

// Values stay near [-4, 4], so that errors do not grow without bound.
inline Tensor squashed(const Tensor& x) { return tanh(x * 0.25) * 4; }

using GraphStep = Tensor (*)(const Tensor&, const Tensor&);
inline const GraphStep real_steps[] = {
    [](const Tensor& a, const Tensor& b) { return squashed(a + b); },
    [](const Tensor& a, const Tensor& b) { return squashed(a * b); },
    [](const Tensor& a, const Tensor& b) { return a - b * 0.5; },
    [](const Tensor& a, const Tensor& b) { return a / (square(b) + 1); },
    [](const Tensor& a, const Tensor&) { return sin(a); },
    [](const Tensor& a, const Tensor&) { return exp(-absolute(a)); },
    [](const Tensor& a, const Tensor&) { return log1p(square(a)); },
    [](const Tensor& a, const Tensor&) { return sigmoid(a); },
    [](const Tensor& a, const Tensor&) { return erf(a) + sinh(a * 0.1); },
    [](const Tensor& a, const Tensor& b) { return hypot(a, b); },
    [](const Tensor& a, const Tensor&) { return sum(a, {0}, true) * 0.1; },
    [](const Tensor& a, const Tensor&) { return squashed(mean(a, {-1}, true)); },
    [](const Tensor& a, const Tensor&) { return a - max(a); },
    [](const Tensor& a, const Tensor&) { return softmax(a, -1); },
    [](const Tensor& a, const Tensor&) { return flip(a, {0}); },
    [](const Tensor& a, const Tensor&) { return roll(a, 1, -1); },
    [](const Tensor& a, const Tensor& b) { return squashed(matmul(broadcast_to(a, {6, 6}), broadcast_to(b, {6, 6}))); },
    [](const Tensor& a, const Tensor&) { return broadcast_to(a, {6, 6}).transpose(); },
    [](const Tensor& a, const Tensor&) { return slice(concat(std::vector{a, a}, 0), 0, {.stop = a.extent(0)}); },
};
inline const GraphStep integer_steps[] = {
    [](const Tensor& a, const Tensor& b) { return a + b; },
    [](const Tensor& a, const Tensor& b) { return a * b; },
    [](const Tensor& a, const Tensor& b) { return a - b * 3; },
    [](const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); },
    [](const Tensor& a, const Tensor& b) { return bitwise_and(a, bitwise_not(b)); },
    [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
    [](const Tensor& a, const Tensor& b) { return where(less(a, b), a, b - 1); },
    [](const Tensor& a, const Tensor&) { return right_shift(a, 3); },
    [](const Tensor& a, const Tensor&) { return floor_divide(a, 7); },
    [](const Tensor& a, const Tensor&) { return remainder(a, 11); },
    [](const Tensor& a, const Tensor&) { return flip(a, {1}); },
    [](const Tensor& a, const Tensor&) { return max(a, {0}, true); },
    [](const Tensor& a, const Tensor&) { return power(remainder(a, 5), 2); },
};

}  // namespace vectis::test
