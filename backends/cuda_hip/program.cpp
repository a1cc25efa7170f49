#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "compiler.hpp"
#include "current.hpp"
#include "image.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

// `refusal`: why the code that travels with the plug-in does not serve; empty: none does.
Compiled compile_for(const VectisContext& context, std::string_view text, const char* options,
                     const std::string& refusal) {
  if (context.device.target.obstacle) {
    throw Failure(VECTIS_UNSUPPORTED, (refusal.empty() ? "this text does not travel compiled" : refusal) + ", and " +
                                          compiler_title + " cannot be used: " + *context.device.target.obstacle +
                                          "; " + compiler_install);
  }
  Compiled compiled = compile(context.compiler.api, context.device.target, text, options);
  if (!refusal.empty()) compiled.warnings = refusal + "\n" + compiled.warnings;
  return compiled;
}

Compiled code_for(const VectisContext& context, std::string_view dialect, std::string_view text, const char* options,
                  const std::string& refusal) {
  if (dialect == device_language) return compile_for(context, text, options, refusal);
  if (dialect == "binary") return {code_of_image(text), ""};
  throw Failure(VECTIS_UNSUPPORTED, "the dialect is '" + std::string(dialect) + "', " + driver_title + " takes " +
                                        device_language + ", binary");
}

struct LoadedProgram {
  ModuleHandle module{};
  Compiled compiled;  // without code when it travels with the plug-in
};

LoadedProgram load(const VectisContext& context, std::string_view dialect, std::string_view text, const char* options) {
  const Api& api = context.api;
  std::string refusal;
  if (dialect == device_language) {
    const auto carried = load_carried(api, context.device.major, context.device.minor, text, options, refusal);
    if (carried) return {*carried, {}};
  }
  LoadedProgram loaded{{}, code_for(context, dialect, text, options, refusal)};
  VECTIS_CALL(api, ModuleLoadData, &loaded.module, loaded.compiled.code.c_str());
  return loaded;
}

}  // namespace

VectisStatus program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                            const char* options, VectisProgram** program, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = context->api;
    const Current current(api, context->context.get());
    LoadedProgram loaded = load(*context, dialect, {static_cast<const char*>(text), bytes}, options);
    Guard made(loaded.module, api.ModuleUnload);
    *program = std::make_unique<VectisProgram>(*context, loaded.module, std::move(loaded.compiled.code)).release();
    made.give();
    return tell(message, VECTIS_OK, loaded.compiled.warnings.c_str(), VECTIS_REASON_NONE);
  });
}

void program_destroy(VectisProgram* program) noexcept {
  in_context(program->owner, [&] { static_cast<void>(program->owner.api.ModuleUnload(program->module)); });
  delete program;
}

VectisStatus program_binary(VectisProgram* program, void* target, std::size_t* bytes, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    if (program->code.empty()) throw Failure(VECTIS_UNSUPPORTED, "this program travels with the plug-in");
    const std::string image = kept_image(program->code);
    if (target != nullptr) {
      if (*bytes < image.size()) {
        throw Failure(VECTIS_INVALID_INPUT, "the binary has " + std::to_string(image.size()) +
                                                " bytes, the room given is " + std::to_string(*bytes));
      }
      std::memcpy(target, image.data(), image.size());
    }
    *bytes = image.size();
    return VECTIS_OK;
  });
}

VectisStatus kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel,
                           VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = program->owner.api;
    const Current current(api, program->owner.context.get());
    FunctionHandle function{};
    const Code code = api.ModuleGetFunction(&function, program->module, name);
    if (static_cast<int>(code) != 0) {
      throw failed_call(api, std::string(symbol_of_ModuleGetFunction) + " of '" + name + "'", code);
    }
    int items = 0;
    VECTIS_CALL(api, FuncGetAttribute, &items, function_group_items, function);
    *kernel = std::make_unique<VectisKernel>(program->owner, function, parameter_sizes(api, function),
                                             static_cast<std::uint32_t>(items))
                  .release();
    return VECTIS_OK;
  });
}

// A function belongs to its module.
void kernel_destroy(VectisKernel* kernel) noexcept { delete kernel; }

}  // namespace vectis::cuda_hip
