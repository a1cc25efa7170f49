// Arrays for other libraries and languages: their memory without a copy, and what happens around evaluations.
#pragma once

#include <cstddef>
#include <memory>

#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::array {

// Elements in host memory. They must not change while `owner` lives.
struct HostElements {
  const std::byte* data = nullptr;  // of the first element
  DType type = DType::float32;
  Shape shape = {};
  Shape strides = {};  // in elements, one for each axis; may be 0 or negative
  std::shared_ptr<const void> owner = nullptr;
};

// Computes `x` and returns its elements where they are, or a copy of them when they are in device memory. Throws what
// Tensor::eval() throws.
VECTIS_API HostElements host_memory(const Tensor& x);
// Returns an array of `memory`: without a copy when it is made on the CPU and the first element is aligned to its size.
// The array holds the owner as long as it needs the memory, and releases it in any thread. Throws InvalidInput when
// shape and strides do not fit or the element type does not exist, and what Tensor::from_bytes throws.
VECTIS_API Tensor from_host_memory(const HostElements& memory, const TensorOptions& options = {});

// Returns the Runtime that an array belongs to. Throws InvalidInput for an empty Tensor.
VECTIS_API Runtime& runtime_of(const Tensor& x);

// Returns the type of positions on the device of `x`: int64 on the CPU, int32 on other devices. Throws InvalidInput for
// an empty Tensor.
VECTIS_API DType position_type(const Tensor& x);
// Returns indices of `x` as an array beside it, on its device. Numbers of 64 bits that int32 does not hold become
// others that are no index either. Throws what Tensor::on() throws.
VECTIS_API Tensor indices_beside(const Tensor& x, const Tensor& indices);

// What a program does around the evaluations of a Runtime, on the thread that asks for them. An interpreter releases
// its lock there, also around evaluations that an operation starts because too many are pending.
class EvaluationObserver {
 public:
  EvaluationObserver() = default;
  EvaluationObserver(const EvaluationObserver&) = delete;
  EvaluationObserver& operator=(const EvaluationObserver&) = delete;
  virtual ~EvaluationObserver() = default;

  // Begins an evaluation; end() is called with what it returns, also when the evaluation throws.
  virtual void* begin() noexcept = 0;
  virtual void end(void* begun) noexcept = 0;
  // Is called before each step. What it throws ends the evaluation, whose rest a later one computes. It may compute
  // other arrays; those of this evaluation throw InvalidInput.
  virtual void step(void* begun) = 0;
};
// Sets the observer of a Runtime, which must outlive it; null: none. Call it before arrays are made.
VECTIS_API void set_evaluation_observer(Runtime& runtime, EvaluationObserver* observer);

}  // namespace vectis::inline v0_1::array
