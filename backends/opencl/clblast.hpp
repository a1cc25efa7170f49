// CLBlast, a tuned BLAS for OpenCL: used when the user has it installed, never linked and never required.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <mutex>

#include "backends/plugin/host.hpp"

namespace vectis::opencl {

using plugin::Host;

// The one function this backend calls, as CLBlast's C interface declares it. Enumerations are ints of stable values.
using ClblastSgemm = int (*)(int layout, int a_transpose, int b_transpose, std::size_t m, std::size_t n, std::size_t k,
                             float alpha, cl_mem a, std::size_t a_offset, std::size_t a_ld, cl_mem b,
                             std::size_t b_offset, std::size_t b_ld, float beta, cl_mem c, std::size_t c_offset,
                             std::size_t c_ld, cl_command_queue* queue, cl_event* done);

// The setting `clblast`: "on" for every device, "off" for none, and otherwise for GPUs: it knows how to be quick on
// them, while a CPU's driver takes minutes to compile it. Opened when first asked for. Thread-safe.
class Clblast {
 public:
  explicit Clblast(const Host& host) : host_(host) {}

  // NULL when it is not installed or not wanted.
  [[nodiscard]] ClblastSgemm sgemm(bool for_gpu);
  // Never again: it failed on this machine with `code`. Said once to the log.
  void give_up(int code);

 private:
  Host host_;
  std::mutex mutex_;
  bool asked_ = false;
  ClblastSgemm sgemm_ = nullptr;
};

}  // namespace vectis::opencl
