// Matrix products by oneDNN, opened at run time where it is installed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// c[m, n] = alpha * op(a)[m, k] * op(b)[k, n] + beta * c, each matrix row after row with a stride. Only alpha and
// beta may be zero; with beta 0 `c` is not read.
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

// Thread-safe. Products are computed one at a time, because oneDNN runs its own OpenMP threads.
class OneDnn {
 public:
  explicit OneDnn(const VectisHost* host);
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;
  ~OneDnn();

  // Whether oneDNN is installed, not switched off (`backends.cpu.onednn: off`), and exact for this element type. The
  // first call opens the library.
  bool supports(VectisType type);

  // Computes a product of a supported type. Returns false, with nothing written, when oneDNN has no implementation for
  // it. Throws std::bad_alloc. Must not be called inside a parallel loop.
  bool multiply(const MatrixProduct& product, std::uint32_t threads);

 private:
  class Library;

  [[maybe_unused]] const VectisHost* host_;  // unused in a build without oneDNN
  std::once_flag opened_;
  std::unique_ptr<Library> library_;  // null: not installed
};

}  // namespace vectis::cpu
