// What a named operation on PoCL costs beside the same kernel launched by bare OpenCL, taken in turns: batches of
// launches of one work-group with one wait at the end. Prints JSON.
#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "vectis/base.hpp"
#include "vectis/base/clock.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"

namespace {

constexpr int batch = 500;
constexpr int rounds = 41;

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string(what) + " gave " + std::to_string(code));
}

// The least a program of one kernel needs, with five arguments as the operation's kernel has.
class Bare {
 public:
  Bare() {
    cl_platform_id platform = nullptr;
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    cl_device_id device = nullptr;
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int code = 0;
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "clCreateCommandQueue");
    const char* text =
        "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void fill(__global float* out, uint first, uint "
        "rows, "
        "uint columns, float value) { uint i = get_global_id(0); if (i < rows * columns) out[first + i] = value; }";
    program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(program_, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = clCreateKernel(program_, "fill", &code);
    check(code, "clCreateKernel");
    memory_ = clCreateBuffer(context_, CL_MEM_READ_WRITE, 256, nullptr, &code);
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
    const cl_uint first = 0;
    const cl_uint rows = 1;
    const cl_uint columns = 64;
    const float value = 1;
    check(clSetKernelArg(kernel_, 0, sizeof(memory_), static_cast<const void*>(&memory_)), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 1, sizeof(first), &first), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 2, sizeof(rows), &rows), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 3, sizeof(columns), &columns), "clSetKernelArg");
    check(clSetKernelArg(kernel_, 4, sizeof(value), &value), "clSetKernelArg");
    const std::size_t items = 64;
    check(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &items, &items, 0, nullptr, nullptr), "launch");
  }
  void wait() { check(clFinish(queue_), "clFinish"); }

 private:
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem memory_ = nullptr;
};

template <class Launch, class Wait>
double nanoseconds_each(const Launch& launch, const Wait& wait) {
  const std::uint64_t start = vectis::monotonic_nanoseconds();
  for (int i = 0; i < batch; ++i) launch();
  wait();
  return static_cast<double>(vectis::monotonic_nanoseconds() - start) / batch;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  vectis::Runtime runtime;
  const vectis::DeviceContext context(*runtime.service<vectis::DeviceRegistry>().find("opencl"));
  vectis::Stream stream(context);
  const vectis::View view(vectis::DeviceMemory(context, 256), vectis::DType::float32, 1, 64);
  Bare bare;
  const auto ours = [&] {
    return nanoseconds_each([&] { vectis::run(stream, "fill", {view}, {1.0}); }, [&] { stream.synchronize(); });
  };
  const auto theirs = [&] { return nanoseconds_each([&] { bare.launch(); }, [&] { bare.wait(); }); };
  ours();
  theirs();
  std::vector<double> our_times;
  std::vector<double> bare_times;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    our_times.push_back(ours());
    bare_times.push_back(theirs());
    ratios.push_back(our_times.back() / bare_times.back());
  }
  const nlohmann::ordered_json report = {{"nanoseconds of a launch", median(our_times)},
                                         {"nanoseconds of a bare launch", median(bare_times)},
                                         {"ratio", median(ratios)}};
  std::cout << report.dump(2) << '\n';
}
