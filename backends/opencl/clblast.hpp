// CLBlast, a tuned BLAS for OpenCL, opened at run time where it is installed. Never linked and never required.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <mutex>

#include "backends/plugin/host.hpp"

namespace vectis::opencl {

// CLBlastSgemm, the only function this backend calls, as CLBlast's C interface declares it; enumerations are ints.
using ClblastSgemm = int (*)(int layout, int a_transpose, int b_transpose, std::size_t m, std::size_t n, std::size_t k,
                             float alpha, cl_mem a, std::size_t a_offset, std::size_t a_ld, cl_mem b,
                             std::size_t b_offset, std::size_t b_ld, float beta, cl_mem c, std::size_t c_offset,
                             std::size_t c_ld, cl_command_queue* queue, cl_event* done);

// Opens CLBlast at first use and hands out its matrix product. The setting `clblast` is "on" for every device or
// "off" for none; by default CLBlast serves GPUs alone, because the drivers of CPUs take minutes to compile it.
// Thread-safe.
class Clblast {
 public:
  // Copies `host`, whose services must stay valid while this object is used. Opens nothing. Does not throw.
  explicit Clblast(const plugin::Host& host) : host_(host) {}

  // Returns CLBlastSgemm for a device, `for_gpu` saying whether it is a GPU. Returns null when CLBlast is not
  // installed, lacks the function, is switched off for the device or was disabled. The first call that needs the
  // library opens it.
  [[nodiscard]] ClblastSgemm sgemm(bool for_gpu);

  // Makes sgemm() return null from now on, because CLBlast failed with status `code`, and logs one warning. Does
  // nothing when CLBlast is not in use.
  void disable(int code);

 private:
  plugin::Host host_;
  std::mutex mutex_;
  bool opened_ = false;           // guarded by mutex_
  ClblastSgemm sgemm_ = nullptr;  // guarded by mutex_
};

}  // namespace vectis::opencl
