// oneDNN, opened at run time: the vendor's matrix products where it is installed and gives exactly what is promised.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// c[m, n] = alpha * op(a)[m, k] * op(b)[k, n] + beta * c, each matrix row after row with a stride. Nothing is zero but
// alpha and beta; with beta 0 `c` is not read.
struct MatrixProduct {
  std::uint64_t m;
  std::uint64_t n;
  std::uint64_t k;
  VectisType type;  // of a and b: float32 and bfloat16 into float32, int8 into int32 (alpha 1, beta 0)
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

// Thread-safe: products are computed one at a time, whoever asks, because oneDNN brings threads of its own (OpenMP's).
class OneDnn {
 public:
  explicit OneDnn(const VectisHost* host);
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;
  ~OneDnn();

  // Whether it is there, was not switched off (`backends.cpu.onednn: off`) and gives exact products of the type. The
  // first call opens it.
  bool serves(VectisType type);

  // A product of a type it serves. False, and nothing was done, when oneDNN has no code for it. Throws std::bad_alloc.
  // Never to be called inside a parallel loop.
  bool multiply(const MatrixProduct& product, std::uint32_t threads);

 private:
  class Library;

  [[maybe_unused]] const VectisHost* host_;  // a build without oneDNN has no use for it
  std::once_flag tried_;
  std::unique_ptr<Library> library_;  // null: not there
};

}  // namespace vectis::cpu
