// What a named operation on PoCL costs beside bare OpenCL launching the very kernel the operation launches, with the
// same arguments, taken in turns: batches of launches of one work-group with one wait at the end. Prints JSON.
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
#include "vectis/base/time.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"

namespace {

constexpr int batch = 500;
constexpr int rounds = 41;
constexpr cl_uint columns = 64;

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string(what) + " gave " + std::to_string(code));
}

// The least a program of one kernel needs.
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
  const vectis::View view(vectis::DeviceMemory(context, sizeof(float) * columns), vectis::DType::float32, 1, columns);
  const vectis::ParameterValue one = 1.0;
  const vectis::Operation& fill = *vectis::find_operation("fill");
  const vectis::LaunchPlan plan = fill.plan({&fill, {&view, 1}, {&one, 1}}, context.device().info());
  const vectis::KernelSource source = plan.launches.at(0).source();
  Bare bare(print(source, vectis::Dialect::opencl_c), std::string(compiler_options(vectis::Dialect::opencl_c)),
            entry_point(source), plan.launches[0].shape.block[0]);
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
