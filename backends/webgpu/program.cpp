#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/plugin/carried.hpp"
#include "kernels.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"
#include "utf8.hpp"

namespace vectis::webgpu {

namespace {

std::unique_ptr<VectisProgram> from_wgsl(VectisContext& context, std::string_view text) {
  // wgpu takes every text for UTF-8 without looking.
  if (const auto wrong = first_not_utf8(text)) {
    throw Failure(VECTIS_COMPILE_FAILED, "the text is no UTF-8 at byte " + std::to_string(*wrong));
  }
  WgslModule wgsl = read_wgsl(text);
  if (!wgsl.too_deep.empty()) throw Failure(VECTIS_COMPILE_FAILED, "the text is too deep: " + wgsl.too_deep);
  Owned<WGPUShaderModule> module = make_module(context.gpu, wgsl.text);
  return std::unique_ptr<VectisProgram>(new VectisProgram{context, std::move(module), std::move(wgsl.interface)});
}

// A kernel of the host's own travels compiled.
std::unique_ptr<VectisProgram> from_builtin(VectisContext& context, std::string_view text) {
  const std::span<const BuiltinKernel> kernels = builtin_kernels();
  const BuiltinKernel* const found = plugin::find_kernel(kernels, text);
  if (found == nullptr) {
    throw Failure(VECTIS_UNSUPPORTED, "this text is none of the " + std::to_string(kernels.size()) +
                                          " kernels that are built in, and WebGPU has no compiler of GLSL at run time; "
                                          "write it in WGSL, or as an IR function for map()");
  }
  const std::span words(found->words, found->count);
  return std::unique_ptr<VectisProgram>(new VectisProgram{context, make_module(context.gpu, words), read_spirv(words)});
}

}  // namespace

VectisStatus program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                            const char*, VectisProgram** program, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::string_view language = dialect;
    const std::string_view given(static_cast<const char*>(text), bytes);
    if (language == "wgsl") {
      *program = from_wgsl(*context, given).release();
    } else if (language == "glsl-webgpu") {
      *program = from_builtin(*context, given).release();
    } else {
      throw Failure(VECTIS_UNSUPPORTED,
                    "the dialect is '" + std::string(language) + "', WebGPU takes wgsl, glsl-webgpu");
    }
    return VECTIS_OK;
  });
}

void program_destroy(VectisProgram* program) noexcept { delete program; }

VectisStatus kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel,
                           VectisMessage* message) noexcept {
  return guarded(message, [&] {
    VectisContext& context = program->context;
    *kernel = new VectisKernel{context, make_pipeline(context.gpu, program->module.get(), program->interface, name)};
    return VECTIS_OK;
  });
}

void kernel_destroy(VectisKernel* kernel) noexcept {
  kernel->context.groups.forget(kernel->pipeline.serial);
  delete kernel;
}

}  // namespace vectis::webgpu
