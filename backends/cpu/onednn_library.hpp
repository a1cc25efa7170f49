// The library oneDNN, opened at run time, and what all calls of it share. Only for builds with VECTIS_ONEDNN.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "backends/plugin/host.hpp"
#include "backends/plugin/unique_handle.hpp"
#include "vectis/device/backend.h"

static_assert(DNNL_VERSION_MAJOR == 2, "oneDNN 3 has other primitives: these files support version 2 only");

namespace vectis::cpu {

// The functions that are called.
#define VECTIS_ONEDNN_FUNCTIONS(X)                       \
  X(dnnl_sgemm)                                          \
  X(dnnl_gemm_s8s8s32)                                   \
  X(dnnl_engine_create)                                  \
  X(dnnl_engine_destroy)                                 \
  X(dnnl_stream_create)                                  \
  X(dnnl_stream_destroy)                                 \
  X(dnnl_stream_wait)                                    \
  X(dnnl_memory_desc_init_by_strides)                    \
  X(dnnl_memory_desc_init_by_tag)                        \
  X(dnnl_memory_desc_equal)                              \
  X(dnnl_memory_desc_get_size)                           \
  X(dnnl_memory_create)                                  \
  X(dnnl_memory_destroy)                                 \
  X(dnnl_memory_set_data_handle)                         \
  X(dnnl_matmul_desc_init)                               \
  X(dnnl_dilated_convolution_forward_desc_init)          \
  X(dnnl_dilated_convolution_backward_data_desc_init)    \
  X(dnnl_dilated_convolution_backward_weights_desc_init) \
  X(dnnl_reorder_primitive_desc_create)                  \
  X(dnnl_primitive_attr_create)                          \
  X(dnnl_primitive_attr_destroy)                         \
  X(dnnl_primitive_attr_set_output_scales)               \
  X(dnnl_primitive_attr_set_post_ops)                    \
  X(dnnl_primitive_attr_set_scratchpad_mode)             \
  X(dnnl_post_ops_create)                                \
  X(dnnl_post_ops_destroy)                               \
  X(dnnl_post_ops_append_sum)                            \
  X(dnnl_primitive_desc_create)                          \
  X(dnnl_primitive_desc_destroy)                         \
  X(dnnl_primitive_desc_query_md)                        \
  X(dnnl_primitive_create)                               \
  X(dnnl_primitive_destroy)                              \
  X(dnnl_primitive_execute)

// Throws std::bad_alloc when memory is exhausted, otherwise the status, which means that oneDNN cannot compute this.
inline void check(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) throw status;
}

// An object of oneDNN, destroyed with its owner.
template <class Handle>
using OneDnnHandle = plugin::UniqueHandle<Handle, dnnl_status_t (*)(Handle)>;

// The functions of oneDNN, and the two of its OpenMP run time that set the number of threads. Immutable.
struct OneDnnLibrary {
  // Returns null, with the reason logged, when oneDNN is not installed or switched off. Throws std::bad_alloc.
  static std::unique_ptr<OneDnnLibrary> open(const VectisHost* host);

  // NOLINTBEGIN(readability-identifier-naming): named like the functions they hold
#define X(function) decltype(&::function) function = nullptr;
  VECTIS_ONEDNN_FUNCTIONS(X)
#undef X
  void (*omp_set_num_threads)(int) = nullptr;
  int (*omp_get_max_threads)() = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

// Sets the number of OpenMP threads of the calling thread, until destroyed.
class OneDnnThreads {
 public:
  OneDnnThreads(const OneDnnLibrary& library, std::uint32_t threads)
      : library_(library), before_(library.omp_get_max_threads()) {
    library_.omp_set_num_threads(static_cast<int>(threads));
  }
  OneDnnThreads(const OneDnnThreads&) = delete;
  OneDnnThreads& operator=(const OneDnnThreads&) = delete;
  ~OneDnnThreads() { library_.omp_set_num_threads(before_); }

 private:
  const OneDnnLibrary& library_;
  int before_;
};

// Returns the mutex that is held while oneDNN computes: the process has one OpenMP run time, however many Runtimes
// there are.
std::mutex& onednn_mutex();

}  // namespace vectis::cpu
