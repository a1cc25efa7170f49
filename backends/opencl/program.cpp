#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backends/plugin/programs.hpp"
#include "backends/plugin/slots.hpp"
#include "objects.hpp"
#include "query.hpp"

namespace vectis::opencl {

namespace {

Owned<cl_program> from_source(const VectisContext& context, const void* text, std::size_t bytes) {
  const Api& api = context.api;
  const char* source = static_cast<const char*>(text);
  cl_int code = CL_SUCCESS;
  Owned<cl_program> program(api.CreateProgramWithSource(context.context.get(), 1, &source, &bytes, &code),
                            api.ReleaseProgram);
  check(code, "clCreateProgramWithSource");
  return program;
}

Owned<cl_program> from_binary(const VectisContext& context, const void* text, std::size_t bytes) {
  const Api& api = context.api;
  const auto* binary = static_cast<const unsigned char*>(text);
  cl_int binary_code = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  Owned<cl_program> program(
      api.CreateProgramWithBinary(context.context.get(), 1, &context.device, &bytes, &binary, &binary_code, &code),
      api.ReleaseProgram);
  check(code, "clCreateProgramWithBinary");
  check(binary_code, "clCreateProgramWithBinary");
  return program;
}

// What the compiler printed: empty, or lines that end with a line break. Some drivers end every log with blanks.
std::string build_log(const VectisContext& context, cl_program program) {
  const Api& api = context.api;
  std::size_t bytes = 0;
  cl_int code = api.GetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (code == CL_SUCCESS) {
    code = api.GetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  }
  if (code != CL_SUCCESS)
    return "the build log is not available: clGetProgramBuildInfo failed with " + describe(code) + "\n";
  log.erase(log.find_last_not_of(std::string_view(" \n\r\t\0", 5)) + 1);
  return log.empty() ? log : log + "\n";
}

// Returns the options with OpenCL C 3.0 in place of 1.2 for devices with dot products of packed bytes: compilers define
// the macros that say which of them there are for that language alone (cl_khr_integer_dot_product, "features").
std::string with_language(const VectisContext& context, const char* options) {
  constexpr std::string_view asked = "-cl-std=CL1.2";
  std::string all = options == nullptr ? "" : options;
  const std::size_t place = all.find(asked);
  if (place == std::string::npos) return all;
  const bool has_language = device_text(context.api, context.device, CL_DEVICE_VERSION).starts_with("OpenCL 3.");
  const Extensions extensions(device_text(context.api, context.device, CL_DEVICE_EXTENSIONS));
  if (has_language && extensions.has("cl_khr_integer_dot_product")) all.replace(place, asked.size(), "-cl-std=CL3.0");
  return all;
}

// Returns the build log: the compiler's warnings. Throws COMPILE_FAILED with the log when the source or the options are
// wrong.
std::string build(const VectisContext& context, cl_program program, const char* options) {
  const cl_int code = context.api.BuildProgram(program, 1, &context.device, options, nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS) {
    // The log comes first: a host shows the first line, which states line and column of the first error.
    throw Failure(VECTIS_COMPILE_FAILED, build_log(context, program) + "clBuildProgram failed with " + describe(code));
  }
  check(code, "clBuildProgram");
  std::string warnings = build_log(context, program);
  if (!warnings.empty()) warnings.pop_back();
  return warnings;
}

std::size_t binary_size(const VectisProgram& program) {
  std::size_t bytes = 0;
  check(
      program.context.api.GetProgramInfo(program.program.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr),
      "clGetProgramInfo");
  if (bytes == 0)
    throw Failure(VECTIS_UNSUPPORTED, "the driver offers no binary of this program: clGetProgramInfo states 0 bytes");
  return bytes;
}

// Throws INVALID_INPUT when the arrays that a kernel declares in local memory exceed the device's: PoCL ends the
// process at their launch.
void check_local_arrays(const VectisContext& context, cl_kernel kernel, const char* name) {
  cl_ulong bytes = 0;
  cl_ulong limit = 0;
  check(context.api.GetKernelWorkGroupInfo(kernel, context.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes,
                                           nullptr),
        "clGetKernelWorkGroupInfo");
  check(context.api.GetDeviceInfo(context.device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof limit, &limit, nullptr),
        "clGetDeviceInfo");
  if (bytes <= limit) return;
  throw Failure(VECTIS_INVALID_INPUT, std::string("kernel '") + name + "' declares " + std::to_string(bytes) +
                                          " bytes of local memory, the device's limit is " + std::to_string(limit) +
                                          "; use smaller tiles");
}

}  // namespace

}  // namespace vectis::opencl

namespace vectis::plugin {

using namespace opencl;

std::string program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                           const char* options, VectisProgram** program) {
  Owned<cl_program> created = is_binary(dialect, "opencl-c", "OpenCL") ? from_binary(*context, text, bytes)
                                                                       : from_source(*context, text, bytes);
  std::string warnings = build(*context, created.get(), with_language(*context, options).c_str());
  *program = std::make_unique<VectisProgram>(*context, std::move(created)).release();
  return warnings;
}

void program_destroy(VectisProgram* program) noexcept { delete program; }

void program_binary(VectisProgram* program, void* target, std::size_t* bytes) {
  write_binary(binary_size(*program), target, bytes, [&] {
    auto* binary = static_cast<unsigned char*>(target);
    check(program->context.api.GetProgramInfo(program->program.get(), CL_PROGRAM_BINARIES, sizeof(unsigned char*),
                                              static_cast<void*>(&binary), nullptr),
          "clGetProgramInfo");
  });
}

void kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel) {
  const Api& api = program->context.api;
  cl_int code = CL_SUCCESS;
  Owned<cl_kernel> created(api.CreateKernel(program->program.get(), name, &code), api.ReleaseKernel);
  if (code != CL_SUCCESS) throw failed_call(std::string("clCreateKernel of '") + name + "'", code);
  check_local_arrays(program->context, created.get(), name);
  cl_uint arguments = 0;
  check(api.GetKernelInfo(created.get(), CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, nullptr), "clGetKernelInfo");
  std::size_t group_items_max = 0;
  check(api.GetKernelWorkGroupInfo(created.get(), program->context.device, CL_KERNEL_WORK_GROUP_SIZE,
                                   sizeof group_items_max, &group_items_max, nullptr),
        "clGetKernelWorkGroupInfo");
  *kernel = std::make_unique<VectisKernel>(api, std::move(created), arguments, name, group_items_max).release();
}

void kernel_destroy(VectisKernel* kernel) noexcept { delete kernel; }

}  // namespace vectis::plugin
