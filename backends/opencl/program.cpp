#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::opencl {

namespace {

Owned<cl_program> from_source(const VectisContext& context, const void* text, std::size_t bytes) {
  const Api& api = context.api;
  const char* source = static_cast<const char*>(text);
  cl_int code = CL_SUCCESS;
  Owned program(api.CreateProgramWithSource(context.context.get(), 1, &source, &bytes, &code), api.ReleaseProgram);
  check(code, "clCreateProgramWithSource");
  return program;
}

Owned<cl_program> from_binary(const VectisContext& context, const void* text, std::size_t bytes) {
  const Api& api = context.api;
  const auto* binary = static_cast<const unsigned char*>(text);
  cl_int binary_code = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  Owned program(
      api.CreateProgramWithBinary(context.context.get(), 1, &context.device, &bytes, &binary, &binary_code, &code),
      api.ReleaseProgram);
  check(code, "clCreateProgramWithBinary");
  check(binary_code, "clCreateProgramWithBinary");
  return program;
}

std::string build_log(const VectisContext& context, cl_program program) {
  const Api& api = context.api;
  std::size_t bytes = 0;
  cl_int code = api.GetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (code == CL_SUCCESS) {
    code = api.GetProgramBuildInfo(program, context.device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  }
  if (code != CL_SUCCESS) return "its output is lost: clGetProgramBuildInfo failed with " + describe(code);
  return log;
}

// Returns what the compiler said; some drivers end every log with blanks.
std::string build(const VectisContext& context, cl_program program, const char* options) {
  const cl_int code = context.api.BuildProgram(program, 1, &context.device, options, nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS) {
    throw Failure(VECTIS_COMPILE_FAILED,
                  "clBuildProgram failed with " + describe(code) + ":\n" + build_log(context, program));
  }
  check(code, "clBuildProgram");
  std::string warnings = build_log(context, program);
  warnings.erase(warnings.find_last_not_of(std::string_view(" \n\r\t\0", 5)) + 1);
  return warnings;
}

std::size_t binary_size(const VectisProgram& program) {
  std::size_t bytes = 0;
  check(
      program.context.api.GetProgramInfo(program.program.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr),
      "clGetProgramInfo");
  if (bytes == 0) throw Failure(VECTIS_UNSUPPORTED, "the driver keeps no binary: clGetProgramInfo states 0 bytes");
  return bytes;
}

}  // namespace

VectisStatus program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                            const char* options, VectisProgram** program, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::string_view language = dialect;
    const bool is_source = language == "opencl-c";
    if (!is_source && language != "binary") {
      throw Failure(VECTIS_UNSUPPORTED,
                    "the dialect is '" + std::string(language) + "', OpenCL takes opencl-c, binary");
    }
    Owned<cl_program> made = is_source ? from_source(*context, text, bytes) : from_binary(*context, text, bytes);
    const std::string warnings = build(*context, made.get(), options);
    *program = std::make_unique<VectisProgram>(*context, std::move(made)).release();
    return tell(message, VECTIS_OK, warnings.c_str(), VECTIS_REASON_NONE);
  });
}

void program_destroy(VectisProgram* program) noexcept { delete program; }

VectisStatus program_binary(VectisProgram* program, void* target, std::size_t* bytes, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::size_t needed = binary_size(*program);
    if (target != nullptr) {
      if (*bytes < needed) {
        throw Failure(VECTIS_INVALID_INPUT, "the binary has " + std::to_string(needed) + " bytes, the room given is " +
                                                std::to_string(*bytes));
      }
      auto* place = static_cast<unsigned char*>(target);
      check(program->context.api.GetProgramInfo(program->program.get(), CL_PROGRAM_BINARIES, sizeof(unsigned char*),
                                                static_cast<void*>(&place), nullptr),
            "clGetProgramInfo");
    }
    *bytes = needed;
    return VECTIS_OK;
  });
}

VectisStatus kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel,
                           VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = program->context.api;
    cl_int code = CL_SUCCESS;
    Owned made(api.CreateKernel(program->program.get(), name, &code), api.ReleaseKernel);
    if (code != CL_SUCCESS) throw failed_call((std::string("clCreateKernel of '") + name + "'").c_str(), code);
    cl_uint arguments = 0;
    check(api.GetKernelInfo(made.get(), CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, nullptr), "clGetKernelInfo");
    *kernel = std::make_unique<VectisKernel>(api, std::move(made), arguments).release();
    return VECTIS_OK;
  });
}

void kernel_destroy(VectisKernel* kernel) noexcept { delete kernel; }

}  // namespace vectis::opencl
