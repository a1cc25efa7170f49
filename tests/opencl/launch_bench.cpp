// The cost of a named operation on PoCL, compared with bare OpenCL that launches the same kernel with the same
// arguments: batches of launches of one work-group with one wait at the end. Prints JSON.
#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/launch_comparison.hpp"

namespace {

constexpr cl_uint columns = vectis::test::FillLaunch::columns;

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string(what) + " gave " + std::to_string(code));
}

// A minimal OpenCL program with one kernel.
class Bare {
 public:
  Bare(const std::string& source, const std::string& options, const std::string& entry_point, std::size_t group)
      : group_(group) {
    cl_platform_id platform = nullptr;
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    cl_device_id device = nullptr;
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int code = 0;
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "clCreateCommandQueue");
    const char* text = source.c_str();
    program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(program_, 1, &device, options.c_str(), nullptr, nullptr), "clBuildProgram");
    kernel_ = clCreateKernel(program_, entry_point.c_str(), &code);
    check(code, "clCreateKernel");
    cl_uint arguments = 0;
    check(clGetKernelInfo(kernel_, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, nullptr), "clGetKernelInfo");
    if (arguments != 1 + scalars_.size()) throw std::runtime_error("fill has other arguments than this program knows");
    memory_ = clCreateBuffer(context_, CL_MEM_READ_WRITE, sizeof(float) * columns, nullptr, &code);
    check(code, "clCreateBuffer");
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  ~Bare() {
    clReleaseMemObject(memory_);
    clReleaseKernel(kernel_);
    clReleaseProgram(program_);
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }

  void launch() {
    check(clSetKernelArg(kernel_, 0, sizeof(memory_), static_cast<const void*>(&memory_)), "clSetKernelArg");
    for (cl_uint i = 0; i < scalars_.size(); ++i) {
      check(clSetKernelArg(kernel_, i + 1, sizeof(cl_uint), &scalars_[i]), "clSetKernelArg");
    }
    check(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &group_, &group_, 0, nullptr, nullptr), "launch");
  }
  void wait() { check(clFinish(queue_), "clFinish"); }

 private:
  std::size_t group_;
  // Of fill for one row: chunk, items, words of a row, rows, columns, offset, stride, pattern.
  std::array<cl_uint, 8> scalars_{static_cast<cl_uint>(group_), columns, columns, 1, columns, 0, columns, 0x3F800000};

  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem memory_ = nullptr;
};

}  // namespace

int main() {
  vectis::Runtime runtime;
  vectis::test::FillLaunch ours(runtime, "opencl");
  const vectis::KernelSource source = ours.plan.launches.at(0).source();
  Bare bare(print(source, vectis::Dialect::opencl_c), std::string(compiler_options(vectis::Dialect::opencl_c)),
            entry_point(source), ours.plan.launches[0].shape.block[0]);
  compare_launches(ours, [&] {
    for (int i = 0; i < vectis::test::launches_in_batch; ++i) bare.launch();
    bare.wait();
  });
}
