// Matrix products and convolutions by oneDNN, opened at run time where it is installed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "backends/cpu/convolution.hpp"
#include "vectis/device/backend.h"

namespace vectis::cpu {

// The arguments of OneDnn::multiply: c[m, n] = alpha * op(a)[m, k] * op(b)[k, n] + beta * c, where op transposes a
// matrix whose flag is set. Matrices are row-major; strides count elements. Only alpha and beta may be zero; with
// beta 0 `c` is not read.
struct MatrixProduct {
  std::uint64_t m;
  std::uint64_t n;
  std::uint64_t k;
  VectisType type;    // of a and b: float32 and bfloat16 into float32, int8 into int32 (alpha 1, beta 0)
  VectisType result;  // of c: also bfloat16 of bfloat16
  const void* a;
  std::uint64_t a_stride;
  bool transpose_a;
  const void* b;
  std::uint64_t b_stride;
  bool transpose_b;
  float alpha;
  float beta;
  void* c;
  std::uint64_t c_stride;
};

// Computes matrix products and convolutions with oneDNN where it is installed. Thread-safe. The process computes one
// of them at a time, because oneDNN runs its own OpenMP threads.
class OneDnn {
 public:
  // Stores `host`, which must outlive this object; supports() opens the library later. Does not throw.
  explicit OneDnn(const VectisHost* host);
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;
  ~OneDnn();

  // Returns whether the functions below may be called for this element type: oneDNN is installed and not switched off
  // (`backends.cpu.onednn: off`), and the CPU multiplies the type exactly and fast: float32 always, bfloat16 with
  // AVX-512, int8 with VNNI or AMX. The first call opens the library, logs why it cannot be used, and may throw
  // std::bad_alloc.
  bool supports(VectisType type);

  // Computes `product` with up to `threads` threads. Preconditions, unchecked: supports(product.type) has returned
  // true, and the call is not made inside a parallel loop. Returns false when oneDNN has no implementation for the
  // product or fails. Throws std::bad_alloc when memory is exhausted.
  bool multiply(const MatrixProduct& product, std::uint32_t threads);

  // Returns the bytes of workspace that convolve() needs for `convolution` with up to `threads` threads, or nothing
  // when oneDNN does not compute it. Precondition, unchecked: supports(convolution.type) has returned true. Throws
  // std::bad_alloc when memory is exhausted.
  std::optional<std::uint64_t> convolution_workspace(const Convolution& convolution, std::uint32_t threads);

  // Computes `convolution` with up to `threads` threads. Preconditions, unchecked: supports(convolution.type) has
  // returned true, and the call is not made inside a parallel loop. Returns false when oneDNN does not compute it,
  // fails, or needs more workspace. Throws std::bad_alloc when memory is exhausted.
  bool convolve(const Convolution& convolution, const ConvolutionArrays& arrays, std::uint32_t threads);

 private:
  class Library;

  [[maybe_unused]] const VectisHost* host_;  // unused in a build without oneDNN
  std::once_flag opened_;
  std::unique_ptr<Library> library_;  // null: not installed
};

}  // namespace vectis::cpu
