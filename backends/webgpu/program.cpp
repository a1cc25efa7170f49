#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

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

}  // namespace

VectisStatus program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                            const char*, VectisProgram** program, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    if (std::string_view(dialect) != "wgsl") {
      throw Failure(VECTIS_UNSUPPORTED, "the dialect is '" + std::string(dialect) + "', WebGPU takes wgsl");
    }
    *program = from_wgsl(*context, {static_cast<const char*>(text), bytes}).release();
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
