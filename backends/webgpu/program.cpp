#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/plugin/embedded_kernels.hpp"
#include "backends/plugin/programs.hpp"
#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::webgpu {

namespace {

std::unique_ptr<VectisProgram> from_wgsl(VectisContext& context, std::string_view text) {
  // wgpu assumes UTF-8 without checking.
  if (const auto invalid = find_invalid_utf8(text)) {
    throw Failure(VECTIS_COMPILE_FAILED, "the text is not UTF-8 at byte " + std::to_string(*invalid));
  }
  WgslModule wgsl = read_wgsl(text);
  if (!wgsl.too_complex.empty()) throw Failure(VECTIS_COMPILE_FAILED, "the text is too complex: " + wgsl.too_complex);
  Owned<WGPUShaderModule> module = make_module(context.gpu, wgsl.text);
  return std::unique_ptr<VectisProgram>(new VectisProgram{context, std::move(module), std::move(wgsl.interface)});
}

// Built-in kernels are embedded as SPIR-V.
std::unique_ptr<VectisProgram> from_glsl(VectisContext& context, std::string_view text) {
  const std::span<const SpirvKernel> kernels = embedded_kernels();
  const SpirvKernel* const found = plugin::find_kernel(kernels, text);
  if (found == nullptr) {
    throw Failure(VECTIS_UNSUPPORTED,
                  "this text is none of the " + std::to_string(kernels.size()) +
                      " built-in kernels, and WebGPU has no run-time compiler for GLSL; write it in "
                      "WGSL, or as an IR function for map()");
  }
  return std::unique_ptr<VectisProgram>(
      new VectisProgram{context, make_module(context.gpu, found->code), read_spirv(found->code)});
}

}  // namespace

}  // namespace vectis::webgpu

namespace vectis::plugin {

using namespace webgpu;

std::string program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                           const char*, VectisProgram** program) {
  const std::string_view language = dialect;
  const std::string_view given(static_cast<const char*>(text), bytes);
  if (language == "wgsl") {
    *program = from_wgsl(*context, given).release();
  } else if (language == "glsl-webgpu") {
    *program = from_glsl(*context, given).release();
  } else {
    throw unsupported_dialect(language, "WebGPU takes wgsl and glsl-webgpu");
  }
  return {};
}

void program_destroy(VectisProgram* program) noexcept { delete program; }

void kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel) {
  VectisContext& context = program->context;
  *kernel = new VectisKernel{context, make_pipeline(context.gpu, program->module.get(), program->interface, name)};
}

void kernel_destroy(VectisKernel* kernel) noexcept {
  kernel->context.bind_groups.forget(kernel->pipeline.serial);
  delete kernel;
}

}  // namespace vectis::plugin
