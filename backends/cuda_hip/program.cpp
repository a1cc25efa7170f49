#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "backends/plugin/programs.hpp"
#include "backends/plugin/slots.hpp"
#include "compiler.hpp"
#include "objects.hpp"

namespace vectis::cuda_hip {

namespace {

// A binary as it is cached. The driver takes code without a length and does not check it, so the header states length
// and checksum, and a truncated or changed binary is rejected before the driver sees it.
struct BinaryHeader {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t checksum;
};

constexpr char binary_magic[8] = {'V', 'T', 'I', 'M', 'A', 'G', 'E', '1'};

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return sum;
}

std::string wrap_binary(std::string_view code) {
  BinaryHeader header{};
  std::memcpy(header.magic, binary_magic, sizeof binary_magic);
  header.bytes = code.size();
  header.checksum = fnv1a(code);
  std::string binary(sizeof header + code.size(), '\0');
  std::memcpy(binary.data(), &header, sizeof header);
  code.copy(binary.data() + sizeof header, code.size());
  return binary;
}

// The code of a binary; throws INVALID_INPUT when it is truncated or corrupt.
std::string unwrap_binary(std::string_view binary) {
  BinaryHeader header{};
  if (binary.size() >= sizeof header) std::memcpy(&header, binary.data(), sizeof header);
  const std::string_view code = binary.substr(binary.size() < sizeof header ? binary.size() : sizeof header);
  if (std::memcmp(header.magic, binary_magic, sizeof binary_magic) != 0 || header.bytes != code.size() ||
      header.checksum != fnv1a(code)) {
    throw Failure(VECTIS_INVALID_INPUT, "the binary of " + std::to_string(binary.size()) +
                                            " bytes was not written by this backend, or is corrupt");
  }
  return std::string(code);
}

// `rejection`: why the embedded kernel of this text cannot be used; empty: there is none.
CompiledCode compile_for(const VectisContext& context, std::string_view text, const char* options,
                         const std::string& rejection) {
  if (context.device.target.obstacle) {
    throw Failure(VECTIS_UNSUPPORTED, (rejection.empty() ? "this text is no embedded kernel" : rejection) + ", and " +
                                          compiler_title + " cannot be used: " + *context.device.target.obstacle +
                                          "; " + context.compiler.advice);
  }
  CompiledCode compiled = compile(context.compiler.api, context.device.target, text, options);
  if (!rejection.empty()) compiled.warnings = rejection + "\n" + compiled.warnings;
  return compiled;
}

CompiledCode code_for(const VectisContext& context, std::string_view dialect, std::string_view text,
                      const char* options, const std::string& rejection) {
  if (plugin::is_binary(dialect, device_language, driver_title)) return {unwrap_binary(text), ""};
  return compile_for(context, text, options, rejection);
}

struct LoadedProgram {
  ModuleHandle module{};
  CompiledCode compiled;      // without code when the kernel is embedded
  const char* ptx = nullptr;  // of an embedded kernel
};

LoadedProgram load(const VectisContext& context, std::string_view dialect, std::string_view text, const char* options) {
  const Api& api = context.api;
  std::string rejection;
  if (dialect == device_language) {
    const auto embedded = load_embedded(api, context.device.major, context.device.minor, text, options, rejection);
    if (embedded) return {embedded->module, {}, embedded->ptx};
  }
  LoadedProgram loaded{{}, code_for(context, dialect, text, options, rejection)};
  VECTIS_CALL(api, ModuleLoadData, &loaded.module, loaded.compiled.code.c_str());
  return loaded;
}

// The code of a program. That of an embedded kernel is compiled when it is first asked for: the driver does not give
// the code of a loaded module.
const std::string& code_of(VectisProgram& program) {
  const std::lock_guard lock(program.code_mutex);
  if (program.code.empty()) {
    const CurrentContext current(program.owner.api, program.owner.context.get());
    program.code = machine_code_of(program.owner.api, program.ptx);
  }
  return program.code;
}

}  // namespace

}  // namespace vectis::cuda_hip

namespace vectis::plugin {

using namespace cuda_hip;

std::string program_create(VectisContext* context, const char* dialect, const void* text, std::size_t bytes,
                           const char* options, VectisProgram** program) {
  const Api& api = context->api;
  const CurrentContext current(api, context->context.get());
  LoadedProgram loaded = load(*context, dialect, {static_cast<const char*>(text), bytes}, options);
  UniqueHandle owner(loaded.module, api.ModuleUnload);
  *program =
      std::make_unique<VectisProgram>(*context, loaded.module, loaded.ptx, std::move(loaded.compiled.code)).release();
  owner.release();
  return std::move(loaded.compiled.warnings);
}

void program_destroy(VectisProgram* program) noexcept {
  in_context(program->owner, [&] { static_cast<void>(program->owner.api.ModuleUnload(program->module)); });
  delete program;
}

void program_binary(VectisProgram* program, void* target, std::size_t* bytes) {
  const std::string binary = wrap_binary(code_of(*program));
  write_binary(binary.size(), target, bytes, [&] { std::memcpy(target, binary.data(), binary.size()); });
}

void kernel_create(VectisProgram* program, const char* name, VectisKernel** kernel) {
  const Api& api = program->owner.api;
  const CurrentContext current(api, program->owner.context.get());
  FunctionHandle function{};
  const Code code = api.ModuleGetFunction(&function, program->module, name);
  if (static_cast<int>(code) != 0) {
    throw failed_call(api, std::string(symbol_of_ModuleGetFunction) + " of '" + name + "'", code);
  }
  int items = 0;
  VECTIS_CALL(api, FuncGetAttribute, &items, function_block_items, function);
  *kernel = std::make_unique<VectisKernel>(program->owner, function, parameter_sizes(api, function),
                                           static_cast<std::uint32_t>(items))
                .release();
}

// A function belongs to its module.
void kernel_destroy(VectisKernel* kernel) noexcept { delete kernel; }

}  // namespace vectis::plugin
